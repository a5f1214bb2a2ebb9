// Package logging is the logging interface of plugins and the registry of
// named loggers whose levels can be changed while the agent runs. It writes by
// zap.
package logging

// Level is the severity of a log entry.
type Level int8

// The levels, from the most to the least verbose.
const (
	DebugLevel Level = iota - 1
	InfoLevel
	WarnLevel
	ErrorLevel
)

// Logger writes entries of one named logger. The message of Debug, Info, Warn and
// Error is constant text; facts follow as alternating keys and values
// (log.Info("route added", "key", key)). A message that is not text, such as an
// error, is converted. Other arguments become part of the message, separated by
// spaces: log.Error("open the file:", err). All methods may be called concurrently.
type Logger interface {
	Debug(msg any, kv ...any)
	Info(msg any, kv ...any)
	Warn(msg any, kv ...any)
	Error(msg any, kv ...any)
	Debugf(format string, args ...any)
	Infof(format string, args ...any)
	Warnf(format string, args ...any)
	Errorf(format string, args ...any)
	// Println writes its arguments at the info level, as the log package does.
	Println(args ...any)
	// With returns a logger that adds the given keys and values to every entry.
	With(kv ...any) Logger
	// Enabled reports whether an entry of the level would be written. Use it
	// where preparing the facts is costly.
	Enabled(Level) bool
	Ported
}

// PluginLogger is the logger of a plugin. NewLogger creates loggers for its
// parts, named "<plugin>.<part>", with their own levels.
type PluginLogger interface {
	Logger
	NewLogger(part string) Logger
}

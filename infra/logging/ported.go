package logging

import (
	"fmt"
	"maps"
	"slices"
)

// DefaultLogger is a logger that belongs to no agent, for ported code that has no
// logger of a plugin. It writes to standard error; flags and configuration files do
// not affect it. Plugins use PluginDeps.Log.
var DefaultLogger = ForPlugin("defaultLogger")

// Fields are facts of an entry, for WithFields.
type Fields = map[string]any

// LogLevel is another name of Level.
type LogLevel = Level

// Ported are the methods of a Logger that code written for cn-infra calls. Those
// without a format separate their arguments by spaces. New code uses the other
// methods of Logger.
type Ported interface {
	// WithField and WithFields are With.
	WithField(key string, value any) Logger
	WithFields(fields Fields) Logger
	// Trace and Tracef write at the debug level, Print and Printf at the info level.
	Trace(args ...any)
	Tracef(format string, args ...any)
	Print(args ...any)
	Printf(format string, args ...any)
	Debugln(args ...any)
	Infoln(args ...any)
	Warnln(args ...any)
	Errorln(args ...any)
	// Fatal, Fatalf, Panic and Panicf write at the error level and panic. In a
	// callback of a plugin, that fails the start of the agent, which closes all
	// plugins.
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Panic(args ...any)
	Panicf(format string, args ...any)
	// GetName returns the name of the logger.
	GetName() string
	// SetLevel sets the level of all loggers with this name, and of their parts without
	// a level of their own. GetLevel returns it.
	SetLevel(Level)
	GetLevel() Level
}

func (l logger) WithField(key string, value any) Logger { return l.With(key, value) }

func (l logger) WithFields(fields Fields) Logger {
	kv := make([]any, 0, 2*len(fields))
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		kv = append(kv, key, fields[key])
	}
	return l.With(kv...)
}

func (l logger) Trace(args ...any)                 { l.logln(DebugLevel, args) }
func (l logger) Tracef(format string, args ...any) { l.logf(DebugLevel, format, args) }
func (l logger) Print(args ...any)                 { l.logln(InfoLevel, args) }
func (l logger) Printf(format string, args ...any) { l.logf(InfoLevel, format, args) }

func (l logger) Debugln(args ...any) { l.logln(DebugLevel, args) }
func (l logger) Infoln(args ...any)  { l.logln(InfoLevel, args) }
func (l logger) Warnln(args ...any)  { l.logln(WarnLevel, args) }
func (l logger) Errorln(args ...any) { l.logln(ErrorLevel, args) }

func (l logger) Fatal(args ...any)                 { l.fail(words(args)) }
func (l logger) Fatalf(format string, args ...any) { l.fail(fmt.Sprintf(format, args...)) }
func (l logger) Panic(args ...any)                 { l.fail(words(args)) }
func (l logger) Panicf(format string, args ...any) { l.fail(fmt.Sprintf(format, args...)) }

func (l logger) fail(text string) {
	l.Error(text)
	panic(text) /* ok: that is what ported code asks for */
}

func (l logger) GetName() string { return l.name }

func (l logger) SetLevel(level Level) {
	if l.registry != nil {
		l.registry.setOwn(l.name, level)
	}
}

func (l logger) GetLevel() Level {
	if l.registry == nil {
		return ErrorLevel
	}
	return l.registry.Level(l.name)
}

package logging

import (
	"fmt"
	"log"
	"strings"

	"go.uber.org/zap"
)

// badKey is the key of a value passed to With without a key, or with a key that is
// not a string. The entry is written nevertheless.
const badKey = "!BADKEY"

// logger implements Logger by zap. Its zap.Logger carries the name and checks
// the level that the registry keeps for the name.
type logger struct {
	z        *zap.Logger
	name     string
	registry *Registry // nil: of Nop
}

func (l logger) Debug(msg any, kv ...any) { l.log(DebugLevel, msg, kv) }
func (l logger) Info(msg any, kv ...any)  { l.log(InfoLevel, msg, kv) }
func (l logger) Warn(msg any, kv ...any)  { l.log(WarnLevel, msg, kv) }
func (l logger) Error(msg any, kv ...any) { l.log(ErrorLevel, msg, kv) }

func (l logger) Debugf(format string, args ...any) { l.logf(DebugLevel, format, args) }
func (l logger) Infof(format string, args ...any)  { l.logf(InfoLevel, format, args) }
func (l logger) Warnf(format string, args ...any)  { l.logf(WarnLevel, format, args) }
func (l logger) Errorf(format string, args ...any) { l.logf(ErrorLevel, format, args) }

func (l logger) Println(args ...any) { l.logln(InfoLevel, args) }

func (l logger) With(kv ...any) Logger {
	l.z = l.z.With(fields(kv)...)
	return l
}

func (l logger) Enabled(level Level) bool { return l.z.Core().Enabled(level.zap()) }

func (l logger) log(level Level, msg any, kv []any) {
	ce := l.z.Check(level.zap(), "")
	if ce == nil {
		return
	}
	constant, isText := msg.(string)
	switch {
	case !pairs(kv):
		ce.Message, kv = text(msg, kv), nil
	case isText:
		ce.Message = constant
	default:
		ce.Message = text(msg, nil)
	}
	ce.Write(fields(kv)...)
}

func (l logger) logln(level Level, args []any) {
	if ce := l.z.Check(level.zap(), ""); ce != nil {
		ce.Message = words(args)
		ce.Write()
	}
}

// pairs reports whether the arguments are alternating keys and values.
func pairs(kv []any) bool {
	for i := 0; i < len(kv); i += 2 {
		if _, ok := kv[i].(string); !ok {
			return false
		}
	}
	return len(kv)%2 == 0
}

// text returns the message of a call whose arguments are not keys and values, as
// in log.Error("open the file:", err).
func text(msg any, args []any) string { return words(append([]any{msg}, args...)) }

// words returns the arguments as text, separated by spaces.
func words(args []any) string {
	shown := make([]any, len(args))
	for i, arg := range args {
		shown[i] = arg
		if m, ok := redactable(arg); ok {
			shown[i] = m
		}
	}
	return strings.TrimSuffix(fmt.Sprintln(shown...), "\n")
}

func (l logger) logf(level Level, format string, args []any) {
	if ce := l.z.Check(level.zap(), ""); ce != nil {
		ce.Message = fmt.Sprintf(format, args...)
		ce.Write()
	}
}

// fields turns alternating keys and values into zap fields.
func fields(kv []any) []zap.Field {
	if len(kv) == 0 {
		return nil
	}
	fs := make([]zap.Field, 0, (len(kv)+1)/2)
	for len(kv) > 0 {
		key, ok := kv[0].(string)
		if !ok || len(kv) == 1 {
			fs = append(fs, field(badKey, kv[0]))
			kv = kv[1:]
			continue
		}
		fs = append(fs, field(key, kv[1]))
		kv = kv[2:]
	}
	return fs
}

func field(key string, value any) zap.Field {
	if m, ok := redactable(value); ok {
		return zap.Stringer(key, m)
	}
	return zap.Any(key, value)
}

// pluginLogger is a Logger that creates the loggers of its parts.
type pluginLogger struct {
	Logger
	name     string
	registry *Registry
}

func (p pluginLogger) NewLogger(part string) Logger {
	return p.registry.Logger(p.name + "." + part)
}

// nop drops every entry.
type nop struct{ Logger }

// Nop returns a logger that drops every entry.
func Nop() PluginLogger { return nop{logger{z: zap.NewNop()}} }

func (n nop) NewLogger(string) Logger { return n }

// StdLog returns a logger of the standard library whose lines l writes as
// warnings, for servers that expect one.
func StdLog(l Logger) *log.Logger { return log.New(warnings{l}, "", 0) }

type warnings struct{ Logger }

func (w warnings) Write(line []byte) (int, error) {
	w.Warn(strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

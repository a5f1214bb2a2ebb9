package logging

import (
	"fmt"
	"strings"

	"go.uber.org/zap/zapcore"
)

// String returns the name of the level: debug, info, warn or error.
func (l Level) String() string {
	switch l {
	case DebugLevel:
		return "debug"
	case InfoLevel:
		return "info"
	case WarnLevel:
		return "warn"
	case ErrorLevel:
		return "error"
	}
	return fmt.Sprintf("level(%d)", int8(l))
}

// ParseLevel parses the name of a level, ignoring case. For compatibility with
// existing clients it accepts trace as debug, warning as warn, and fatal and
// panic as error.
func ParseLevel(name string) (Level, error) {
	switch strings.ToLower(name) {
	case "debug", "trace":
		return DebugLevel, nil
	case "info":
		return InfoLevel, nil
	case "warn", "warning":
		return WarnLevel, nil
	case "error", "fatal", "panic":
		return ErrorLevel, nil
	}
	return InfoLevel, fmt.Errorf("unknown log level %q: expected debug, info, warn or error", name)
}

// MarshalText returns the name of the level.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText parses the level like ParseLevel.
func (l *Level) UnmarshalText(text []byte) error {
	level, err := ParseLevel(string(text))
	if err != nil {
		return err
	}
	*l = level
	return nil
}

// zap's levels have the same order and the same numbers.
func (l Level) zap() zapcore.Level { return zapcore.Level(l) }

package logging

import (
	"context"
	"log/slog"
)

// Slog returns a slog.Logger that writes through l, for libraries that expect
// one. Groups become prefixes of keys ("request.method").
func Slog(l Logger) *slog.Logger { return slog.New(slogHandler{l: l}) }

type slogHandler struct {
	l      Logger
	prefix string
}

func (h slogHandler) Enabled(_ context.Context, l slog.Level) bool {
	return h.l.Enabled(fromSlog(l))
}

func (h slogHandler) Handle(_ context.Context, r slog.Record) error {
	kv := make([]any, 0, 2*r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		kv = appendAttr(kv, h.prefix, a)
		return true
	})
	switch fromSlog(r.Level) {
	case DebugLevel:
		h.l.Debug(r.Message, kv...)
	case InfoLevel:
		h.l.Info(r.Message, kv...)
	case WarnLevel:
		h.l.Warn(r.Message, kv...)
	default:
		h.l.Error(r.Message, kv...)
	}
	return nil
}

func (h slogHandler) WithAttrs(as []slog.Attr) slog.Handler {
	var kv []any
	for _, a := range as {
		kv = appendAttr(kv, h.prefix, a)
	}
	return slogHandler{h.l.With(kv...), h.prefix}
}

func (h slogHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return slogHandler{h.l, h.prefix + name + "."}
}

func appendAttr(kv []any, prefix string, a slog.Attr) []any {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		if a.Key == "" && v.Any() == nil {
			return kv
		}
		return append(kv, prefix+a.Key, v.Any())
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, m := range v.Group() {
		kv = appendAttr(kv, prefix, m)
	}
	return kv
}

func fromSlog(l slog.Level) Level {
	switch {
	case l < slog.LevelInfo:
		return DebugLevel
	case l < slog.LevelWarn:
		return InfoLevel
	case l < slog.LevelError:
		return WarnLevel
	}
	return ErrorLevel
}

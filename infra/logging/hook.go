package logging

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Entry is a log entry as passed to hooks. Its secrets are hidden.
type Entry struct {
	Time    time.Time
	Level   Level
	Logger  string
	Message string
	Facts   []Fact // those added by With first
}

// Fact is a key of an entry with its value as text.
type Fact struct{ Key, Value string }

// String returns the entry in the format of the console, without time and level:
// name message {"key": "value"}.
func (e Entry) String() string {
	fs := make([]zapcore.Field, 0, len(e.Facts))
	for _, f := range e.Facts {
		fs = append(fs, zap.String(f.Key, f.Value))
	}
	text, err := newConsole(zapcore.EncoderConfig{NameKey: "logger", MessageKey: "msg", SkipLineEnding: true}).
		EncodeEntry(zapcore.Entry{LoggerName: e.Logger, Message: e.Message}, fs)
	if err != nil { // cannot happen: strings can be encoded
		return e.Message
	}
	defer text.Free()
	return text.String()
}

// AddHook calls hook with every entry that any logger of the registry writes, until
// remove is called. The caller of the logger waits for the hook, which must not log
// itself. A running call may outlast remove.
func (r *Registry) AddHook(hook func(Entry)) (remove func()) { return r.hooks.add(hook) }

type hooks struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*func(Entry)]
}

func (h *hooks) add(hook func(Entry)) (remove func()) {
	h.change(func(list []*func(Entry)) []*func(Entry) { return append(list, &hook) })
	return func() {
		h.change(func(list []*func(Entry)) []*func(Entry) {
			return slices.DeleteFunc(list, func(f *func(Entry)) bool { return f == &hook })
		})
	}
}

func (h *hooks) change(f func([]*func(Entry)) []*func(Entry)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []*func(Entry)
	if old := h.list.Load(); old != nil {
		list = slices.Clone(*old)
	}
	list = f(list)
	h.list.Store(&list)
}

// hooked is a zap core that passes written entries to hooks.
type hooked struct {
	zapcore.Core
	hooks   *hooks
	context []zapcore.Field // added by With
}

func (c hooked) With(fs []zapcore.Field) zapcore.Core {
	return hooked{c.Core.With(fs), c.hooks, slices.Concat(c.context, fs)}
}

func (c hooked) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return ce.AddCore(e, c) // the level of the logger was checked before
}

func (c hooked) Write(e zapcore.Entry, fs []zapcore.Field) error {
	err := c.Core.Write(e, fs)
	list := c.hooks.list.Load()
	if list == nil || len(*list) == 0 {
		return err
	}
	entry := Entry{Time: e.Time, Level: Level(e.Level), Logger: e.LoggerName, Message: e.Message}
	for _, f := range slices.Concat(c.context, fs) {
		if f.Type != zapcore.SkipType {
			entry.Facts = append(entry.Facts, Fact{f.Key, factText(f)})
		}
	}
	for _, hook := range *list {
		(*hook)(entry)
	}
	return err
}

func factText(f zapcore.Field) string {
	m := zapcore.NewMapObjectEncoder()
	f.AddTo(m)
	switch v := m.Fields[f.Key].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case map[string]any, []any:
		if text, err := json.Marshal(v); err == nil {
			return string(text)
		}
		return fmt.Sprint(v)
	default:
		return fmt.Sprint(v)
	}
}

package logging

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// timestamp is the time format of console entries.
const timestamp = "2006-01-02 15:04:05.00000"

func newCore(s settings, h *hooks) zapcore.Core {
	out := zapcore.Lock(zapcore.AddSync(s.out))
	all := zap.LevelEnablerFunc(func(zapcore.Level) bool { return true })
	if s.encoding == JSON {
		cfg := zap.NewProductionEncoderConfig()
		cfg.EncodeTime = zapcore.RFC3339NanoTimeEncoder
		cfg.EncodeDuration = zapcore.StringDurationEncoder
		cfg.TimeKey, cfg.NameKey, cfg.MessageKey = "time", "logger", "msg"
		return clocked{hooked{zapcore.NewCore(zapcore.NewJSONEncoder(cfg), out, all), h, nil}, s.now}
	}
	colours := isTerminal(s.out)
	if s.colours != nil {
		colours = *s.colours
	}
	return clocked{hooked{&console{out: out, colours: colours}, h, nil}, s.now}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// clocked sets the time of entries by the registry's clock.
type clocked struct {
	zapcore.Core
	now func() time.Time
}

func (c clocked) With(fs []zapcore.Field) zapcore.Core { return clocked{c.Core.With(fs), c.now} }

func (c clocked) Write(e zapcore.Entry, fs []zapcore.Field) error {
	e.Time = c.now()
	return c.Core.Write(e, fs)
}

// console formats entries for a terminal: time, level, message, then the
// logger's name and the facts as key=value.
type console struct {
	out     zapcore.WriteSyncer
	colours bool
	context string // the facts added by With, rendered
}

func (c *console) Enabled(zapcore.Level) bool { return true }
func (c *console) Sync() error                { return c.out.Sync() }

func (c *console) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return ce.AddCore(e, c)
}

func (c *console) With(fs []zapcore.Field) zapcore.Core {
	child := *c
	child.context = string(c.facts([]byte(c.context), fs))
	return &child
}

func (c *console) Write(e zapcore.Entry, fs []zapcore.Field) error {
	b := make([]byte, 0, 256)
	b = e.Time.AppendFormat(b, timestamp)
	b = append(b, ' ')
	b = c.paint(b, levelColour(e.Level), fmt.Sprintf("%-5s", strings.ToUpper(Level(e.Level).String())))
	b = append(b, ' ')
	b = appendMessage(b, e.Message)
	b = c.fact(b, "logger", e.LoggerName)
	b = append(b, c.context...)
	b = c.facts(b, fs)
	b = append(b, '\n')
	_, err := c.out.Write(b)
	return err
}

func (c *console) facts(b []byte, fs []zapcore.Field) []byte {
	for _, f := range fs {
		b = c.fact(b, f.Key, fieldText(f))
	}
	return b
}

func (c *console) fact(b []byte, key, value string) []byte {
	if key == "" && value == "" {
		return b
	}
	b = append(b, ' ')
	b = c.paint(b, "\x1b[36m", key)
	b = append(b, '=')
	return appendValue(b, value)
}

func (c *console) paint(b []byte, colour, text string) []byte {
	if !c.colours {
		return append(b, text...)
	}
	b = append(b, colour...)
	b = append(b, text...)
	return append(b, "\x1b[0m"...)
}

func levelColour(l zapcore.Level) string {
	switch {
	case l >= zapcore.ErrorLevel:
		return "\x1b[31m"
	case l >= zapcore.WarnLevel:
		return "\x1b[33m"
	case l >= zapcore.InfoLevel:
		return "\x1b[32m"
	}
	return "\x1b[90m"
}

// appendMessage keeps line breaks, which some messages contain (a
// transaction's plan), but escapes other control characters.
func appendMessage(b []byte, msg string) []byte {
	for _, r := range msg {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			b = append(b, strconv.QuoteRune(r)...)
			continue
		}
		b = utf8.AppendRune(b, r)
	}
	return b
}

// appendValue quotes a value unless it is a plain word.
func appendValue(b []byte, value string) []byte {
	special := func(r rune) bool {
		return r == ' ' || r == '"' || r == '=' || !unicode.IsPrint(r)
	}
	if value == "" || !utf8.ValidString(value) || strings.IndexFunc(value, special) >= 0 {
		return strconv.AppendQuote(b, value)
	}
	return append(b, value...)
}

func fieldText(f zapcore.Field) string {
	switch f.Type {
	case zapcore.StringType:
		return f.String
	case zapcore.SkipType:
		return ""
	case zapcore.ErrorType:
		return fmt.Sprint(f.Interface)
	}
	m := zapcore.NewMapObjectEncoder()
	f.AddTo(m)
	switch v := m.Fields[f.Key].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case fmt.Stringer:
		return v.String()
	case map[string]any, []any:
		if text, err := json.Marshal(v); err == nil {
			return string(text)
		}
		return fmt.Sprint(v)
	default:
		return fmt.Sprint(v)
	}
}

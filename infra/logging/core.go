package logging

import (
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"
)

// timestamp is the time format of console entries.
const timestamp = "2006-01-02 15:04:05.00000"

func newCore(s settings, h *hooks) zapcore.Core {
	out := zapcore.Lock(zapcore.AddSync(s.out))
	all := zap.LevelEnablerFunc(func(zapcore.Level) bool { return true })
	return hooked{zapcore.NewCore(newEncoder(s), out, all), h, nil}
}

func newEncoder(s settings) zapcore.Encoder {
	cfg := zap.NewProductionEncoderConfig()
	cfg.EncodeDuration = zapcore.StringDurationEncoder
	if s.encoding == JSON {
		cfg.EncodeTime = zapcore.RFC3339NanoTimeEncoder
		cfg.TimeKey, cfg.NameKey, cfg.MessageKey = "time", "logger", "msg"
		return zapcore.NewJSONEncoder(cfg)
	}
	cfg.EncodeTime = zapcore.TimeEncoderOfLayout(timestamp)
	cfg.EncodeLevel = zapcore.CapitalLevelEncoder
	if s.colours == nil && isTerminal(s.out) || s.colours != nil && *s.colours {
		cfg.EncodeLevel = zapcore.CapitalColorLevelEncoder
	}
	return newConsole(cfg)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// clock is the clock of entries.
type clock func() time.Time

func (c clock) Now() time.Time { return c() }

func (clock) NewTicker(d time.Duration) *time.Ticker { return time.NewTicker(d) }

// console is zap's console encoder, which writes messages as they are, with the
// control characters of messages escaped: they come from configuration and other
// programs, and a terminal would execute them.
type console struct{ zapcore.Encoder }

func newConsole(cfg zapcore.EncoderConfig) console {
	cfg.ConsoleSeparator = " "
	return console{zapcore.NewConsoleEncoder(cfg)}
}

func (c console) Clone() zapcore.Encoder { return console{c.Encoder.Clone()} }

func (c console) EncodeEntry(e zapcore.Entry, fs []zapcore.Field) (*buffer.Buffer, error) {
	e.Message = printable(e.Message)
	return c.Encoder.EncodeEntry(e, fs)
}

// printable escapes control characters, except for line breaks and tabs, which
// some messages contain (the plan of a transaction).
func printable(msg string) string {
	escaped := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if strings.IndexFunc(msg, escaped) < 0 {
		return msg
	}
	var b strings.Builder
	for _, r := range msg {
		if escaped(r) {
			b.WriteString(strconv.QuoteRune(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

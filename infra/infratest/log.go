package infratest

import (
	"bytes"
	"sync"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Logger returns a logger of the given name, at the debug level, that writes to
// the log of the test. It drops entries after the end of the test.
func Logger(tb testing.TB, name string) logging.PluginLogger {
	tb.Helper()
	return Loggers(tb).PluginLogger(name)
}

// Loggers returns a registry whose loggers write to the log of the test.
func Loggers(tb testing.TB, opts ...logging.Option) *logging.Registry {
	tb.Helper()
	w := &logWriter{tb: tb}
	tb.Cleanup(w.end)
	all := []logging.Option{
		logging.WithWriter(w), logging.WithLevel(logging.DebugLevel), logging.WithColours(false),
	}
	return logging.NewRegistry(append(all, opts...)...)
}

// logWriter writes to the log of a test until that ends.
type logWriter struct {
	mu   sync.Mutex
	tb   testing.TB
	done bool
}

func (w *logWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
}

func (w *logWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.tb.Log(string(bytes.TrimRight(p, "\n")))
	}
	return len(p), nil
}

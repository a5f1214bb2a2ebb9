// Package logtest provides loggers that write to the log of a test, so that
// entries appear beside the failure they explain.
package logtest

import (
	"bytes"
	"sync"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// New returns a logger of the given name, at the debug level, that writes to
// the log of the test. It drops entries after the end of the test.
func New(tb testing.TB, name string) logging.PluginLogger {
	tb.Helper()
	return Registry(tb).PluginLogger(name)
}

// Registry returns a registry whose loggers write to the log of the test.
func Registry(tb testing.TB, opts ...logging.Option) *logging.Registry {
	tb.Helper()
	w := &writer{tb: tb}
	tb.Cleanup(w.end)
	all := []logging.Option{
		logging.WithWriter(w), logging.WithLevel(logging.DebugLevel), logging.WithColours(false),
	}
	return logging.NewRegistry(append(all, opts...)...)
}

type writer struct {
	mu   sync.Mutex
	tb   testing.TB
	done bool
}

func (w *writer) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.tb.Log(string(bytes.TrimRight(p, "\n")))
	}
	return len(p), nil
}

// Package exampletest runs examples in tests and compares what they print.
package exampletest

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/logging/logtest"
)

// patience is how long a test waits for what must come; it is no measure.
const patience = 90 * time.Second

// Example is the function of an example that its main calls.
type Example func(out io.Writer, opts ...agent.Option) error

// Run runs an example to its end and compares what it printed.
func Run(t *testing.T, run Example, want string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	if err := run(&out, options(t, args)...); err != nil {
		t.Fatalf("%v after\n%s", err, &out)
	}
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &out, want)
	}
}

// Start runs an example that does not end by itself, until the end of the test.
func Start(t *testing.T, run Example, args ...string) *Output {
	t.Helper()
	out := &Output{more: make(chan struct{}, 1)}
	ctx, quit := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(out, append(options(t, args), agent.Context(ctx))...) }()
	t.Cleanup(func() {
		quit()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return out
}

func options(t *testing.T, args []string) []agent.Option {
	return []agent.Option{
		agent.Args(append([]string{"--config-dir", t.TempDir()}, args...)...), agent.Environ(config.NoEnviron),
		agent.QuitSignals(), agent.Logging(logtest.Registry(t)),
	}
}

// File writes a file, the way editors do, and returns its path.
func File(t *testing.T, path, text string) string {
	t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.TempDir(), path)
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Output is what an example prints; it can be waited for.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // room for one
}

// Write adds to the output.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

// Await waits until the text was printed.
func (o *Output) Await(t *testing.T, text string) {
	t.Helper()
	for late := time.After(patience); !strings.Contains(o.String(), text); {
		select {
		case <-o.more:
		case <-late:
			t.Fatalf("no %q in\n%s", text, o.String())
		}
	}
}

// String is what was printed so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

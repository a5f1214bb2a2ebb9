// Package exampletest runs examples in tests and compares what they print.
package exampletest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// patience is how long a test waits for what must come; it is no measure.
const patience = 4 * time.Minute

// Example is the function of an example that its main calls.
type Example func(out io.Writer, opts ...agent.Option) error

// Run runs an example to its end and compares what it printed.
func Run(t *testing.T, run Example, want string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	if err := run(&out, Options(t, args...)...); err != nil {
		t.Fatalf("%v after\n%s", err, &out)
	}
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &out, want)
	}
}

// Start runs an example that does not end by itself, until the end of the test.
func Start(t *testing.T, run Example, args ...string) *Output {
	t.Helper()
	out := NewOutput()
	ctx, quit := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(out, append(Options(t, args...), agent.Context(ctx))...) }()
	t.Cleanup(func() {
		quit()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return out
}

// StartAgent starts the agent of an example, and stops it at the end of the test.
func StartAgent(t *testing.T, a *agent.Agent) {
	t.Helper()
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(); err != nil {
			t.Error(err)
		}
		agenttest.CheckLeaks(t, a)
	})
}

// Ask sends a request over HTTP and returns the status and the body of the answer.
func Ask(t *testing.T, by http.RoundTripper, method, url, body string, header ...string) (code int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	req.Close = true
	resp, err := by.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// Options make an agent log to the test and see neither the environment nor the
// command line nor the signals of its process.
func Options(t *testing.T, args ...string) []agent.Option {
	return []agent.Option{
		agent.Args(append([]string{"--config-dir", t.TempDir()}, args...)...), agent.Environ(config.NoEnviron),
		agent.QuitSignals(), agent.Logging(infratest.Loggers(t)), agent.StartTimeout(patience), agent.StopTimeout(patience),
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

// NewOutput returns an empty output.
func NewOutput() *Output { return &Output{more: make(chan struct{}, 1)} }

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

// String returns the output so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

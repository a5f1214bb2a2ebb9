package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// run starts and stops the agent and returns what its two plugins logged.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	noon := func() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }
	loggers := logging.NewRegistry(logging.WithWriter(&out), logging.WithClock(noon))
	if err := loggers.SetLevel("agent", logging.ErrorLevel); err != nil {
		t.Fatal(err)
	}
	a := newAgent(agent.Logging(loggers), agent.QuitSignals(), agent.Environ(config.NoEnviron), agent.Args(args...))
	if err := a.Start(t.Context()); err != nil {
		return "", err
	}
	err := a.Stop()
	return strings.ReplaceAll(out.String(), "2026-01-01 12:00:00.00000 ", ""), err
}

func TestOutput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "words.conf")
	if err := os.WriteFile(file, []byte("greeting: Ahoy\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, `INFO words no configuration file, using defaults {"greeting": "Hello"}
INFO greeter Hello World!
INFO greeter Goodbye World!
`},
		{[]string{"-words-config=" + file}, `INFO words configuration read {"greeting": "Ahoy"}
INFO greeter Ahoy World!
INFO greeter Goodbye World!
`},
	} {
		got, err := run(t, test.args...)
		if err != nil || got != test.want {
			t.Errorf("%q: %v\n got\n%s\nwant\n%s", test.args, err, got, test.want)
		}
	}
}

func TestMisspeltKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "words.conf")
	if err := os.WriteFile(file, []byte("# in Hamburg\ngreetin: Moin\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := run(t, "--words-config", file)
	want := `words.conf:2: greetin: unknown key, did you mean "greeting"?`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

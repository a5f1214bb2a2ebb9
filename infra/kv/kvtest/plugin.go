package kvtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// Start starts an agent with the plugin. stop stops it before the end of the test.
func Start(tb testing.TB, p infra.Plugin) (stop func()) {
	tb.Helper()
	a := agenttest.Start(tb, p)
	return func() {
		if err := a.Stop(); err != nil {
			tb.Error(err)
		}
	}
}

// Plugin is the plugin of a connector.
type Plugin interface {
	kv.Connector
	infra.Plugin
}

// Configuration checks the configuration file of a connector. files are texts of the file, and
// the expected error of the start of the agent; empty: it must start. Without a file the
// connector is disabled.
func Configuration(t *testing.T, newPlugin func() Plugin, files map[string]string) {
	t.Helper()
	disabled := newPlugin()
	agenttest.Start(t, disabled)
	if !disabled.Disabled() || disabled.DB() != nil {
		t.Error("enabled without a configuration")
	}
	if err := disabled.Put("x", nil); !errors.Is(err, kv.ErrDisabled) {
		t.Errorf("put into a disabled store: %v", err)
	}
	if _, err := disabled.Delete("x"); !errors.Is(err, kv.ErrDisabled) {
		t.Errorf("delete in a disabled store: %v", err)
	}
	dir := t.TempDir()
	for text, want := range files {
		if err := os.WriteFile(filepath.Join(dir, disabled.String()+".conf"), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := agenttest.New(t, agent.AllPlugins(newPlugin()), agent.Args("--config-dir", dir)).Start(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

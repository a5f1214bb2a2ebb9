package initfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/initfile"
)

// words is a format for tests: every word is a key, and "bad" is an error.
type words struct{}

func (words) Read(file string, text []byte, _ string) (c kv.Content) {
	for _, key := range strings.Fields(string(text)) {
		if key == "bad" {
			c.Errs = append(c.Errs, errors.New(filepath.Base(file)+": bad word"))
			continue
		}
		c.Entries = append(c.Entries, kv.Entry{Key: key})
	}
	return c
}

func plugin(t *testing.T, text, more string) *initfile.Plugin {
	t.Helper()
	path := filepath.Join(t.TempDir(), "init.yaml")
	if text != "" {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := initfile.NewPlugin(initfile.UseFormat(words{}))
	p.Cfg = config.Text("initfileregistry", "initial-configuration-file-path: "+path+"\n"+more)
	return p
}

func TestContent(t *testing.T) {
	t.Parallel()
	p := plugin(t, "a b", "")
	agenttest.Start(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	err := p.Watch(ctx, "", func(u kv.Update) error {
		if !u.Resync || len(u.Changes) != 2 || u.Changes[1].Key != "b" || p.Disabled() {
			t.Errorf("update %+v", u)
		}
		cancel()
		return errors.New("not applied")
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDisabled(t *testing.T) {
	t.Parallel()
	for _, p := range []*initfile.Plugin{plugin(t, "", ""), plugin(t, "a", "disable-initial-configuration: true")} {
		agenttest.Start(t, p)
		if !p.Disabled() {
			t.Error("enabled")
		}
	}
}

func TestFileWithErrors(t *testing.T) {
	t.Parallel()
	err := agenttest.New(t, agent.AllPlugins(plugin(t, "a bad", ""))).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "init.yaml: bad word") {
		t.Errorf("start: %v", err)
	}
	if err := config.Lint(initfile.DefaultConfig()); err != nil {
		t.Error(err)
	}
}

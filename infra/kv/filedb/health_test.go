package filedb_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/filedb"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// warnings counts the log entries at level warning.
type warnings struct {
	logging.PluginLogger
	mu   sync.Mutex
	seen []string
}

func (w *warnings) Warn(msg any, kv ...any) {
	w.mu.Lock()
	w.seen = append(w.seen, fmt.Sprint(msg))
	w.mu.Unlock()
	w.PluginLogger.Warn(msg, kv...)
}

func (w *warnings) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// Errors in files are logged once, and in the health tree until it
// is over.
func TestTroubleIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tree := health.NewTree(nil)
	log := &warnings{PluginLogger: infratest.Logger(t, "filedb")}
	s := &store{t: t, clock: newClock(), dir: dir, updates: make(chan string, 100)}
	s.Plugin = filedb.NewPlugin(filedb.UseFormat(lines{}), filedb.UseClock(s.clock), filedb.UseConf(filedb.Config{ConfigurationPaths: []string{dir}}))
	s.Health, s.Log = tree.Plugin("filedb"), log
	s.write("a.yaml", "x = 1\nbad\n")
	infratest.Fatal(t, os.Symlink("loop.yaml", filepath.Join(dir, "loop.yaml")))
	agenttest.Start(t, s.Plugin)
	s.Go(func(ctx context.Context) {
		_ = s.Watch(ctx, "/vnf-agent/vpp1/", func(u kv.Update) error { s.updates <- render(u); return nil })
	})
	s.want("resync x=1 ?a.yaml ?loop.yaml")
	got := tree.Snapshot().Plugins[0]
	if got.State != health.Degraded || !strings.Contains(got.Error, "a.yaml:2: bad line") || !strings.Contains(got.Error, "loop.yaml") {
		t.Errorf("health %+v", got)
	}
	if n := log.count(); n != 2 {
		t.Errorf("%d warnings, want 2: %q", n, log.seen)
	}
	s.write("b.yaml", "y = 1\n")
	s.want("y=1 ?a.yaml ?loop.yaml")
	if n := log.count(); n != 2 {
		t.Errorf("%d warnings after another change, want 2: %q", n, log.seen)
	}
	infratest.Fatal(t, os.Remove(filepath.Join(dir, "loop.yaml")))
	s.want("?a.yaml")
	s.write("a.yaml", "x = 2\ny = 2\n")
	s.want("x=2")
	got = tree.Snapshot().Plugins[0]
	if got.State != health.Degraded || got.Error != "key y: different values in 2 files: a.yaml, b.yaml; the value from b.yaml stays in effect until one value is left" {
		t.Errorf("health with a conflict %+v", got)
	}
	if err := s.Refused("y"); err == nil {
		t.Error("the conflict is not told for its key")
	}
	if n := log.count(); n != 3 || log.seen[2] != "files have different values for the same key" {
		t.Errorf("warnings %q", log.seen)
	}
	s.write("a.yaml", "x = 3\ny = 1\n")
	s.want("x=3")
	if got := tree.Snapshot().Plugins[0]; got.State != health.OK || s.Refused("y") != nil {
		t.Errorf("health when all is well %+v, %v", got, s.Refused("y"))
	}
}

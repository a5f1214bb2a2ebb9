package bolt_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func conf(path string) bolt.Config {
	cfg := bolt.DefaultConfig()
	cfg.DbPath, cfg.LockTimeout = path, 100*time.Millisecond
	return cfg
}

func TestSuite(t *testing.T) {
	t.Parallel()
	p := bolt.NewPlugin(bolt.UseConf(conf(filepath.Join(t.TempDir(), "bolt.db"))))
	agenttest.Start(t, p)
	kvtest.Suite{Connect: func(testing.TB) (kv.Connector, func()) { return p, func() {} }}.Run(t)
}

func TestSurvivesRestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bolt.db")
	var revision int64
	for i := range 3 {
		p := bolt.NewPlugin(bolt.UseConf(conf(path)))
		a := agenttest.Start(t, p)
		l, err := p.DB().List(t.Context(), "")
		if err != nil || len(l.Items) != i {
			t.Fatalf("start %d: %+v, %v", i, l, err)
		}
		if l.Revision < revision || i > 0 && l.Items[i-1].Revision != revision {
			t.Errorf("revisions do not continue: %+v, before %d", l, revision)
		}
		if err := p.DB().WatchFrom(t.Context(), "", revision-1, nil); i > 0 && !errors.Is(err, kv.ErrCompacted) {
			t.Errorf("watch from before the restart: %v", err)
		}
		infratest.Fatal(t, p.Put(fmt.Sprint(i), wrapperspb.Bool(true)))
		l, err = p.DB().List(t.Context(), "")
		infratest.Fatal(t, err)
		revision = l.Revision
		other := bolt.NewPlugin(bolt.UseConf(conf(path)))
		if err := agenttest.New(t, agent.AllPlugins(other)).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "another process") {
			t.Errorf("a second opener: %v", err)
		}
		infratest.Fatal(t, a.Stop())
	}
}

// TestConfigurationOfThePredecessor checks bolt.conf as the predecessor shipped it.
func TestConfigurationOfThePredecessor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bolt.db")
	conf := fmt.Sprintf("db-path: %s\nfile-mode: 432\nlock-timeout: 0\n", path)
	text := func() bolt.Option {
		return bolt.UseDeps(func(d *bolt.Deps) { d.Cfg = config.Text("bolt", conf) })
	}
	first := agenttest.Start(t, bolt.NewPlugin(text()))
	info, err := os.Stat(path)
	infratest.Fatal(t, err)
	if got := info.Mode().Perm(); got&0o600 != 0o600 || got&^0o660 != 0 { // less the umask
		t.Errorf("the mode of the file is %o, want 660", got)
	}
	// The second one waits for the file.
	started := make(chan error)
	second := agenttest.New(t, agent.AllPlugins(bolt.NewPlugin(text())), agent.StartTimeout(0))
	go func() { started <- second.Start(t.Context()) }()
	infratest.Fatal(t, first.Stop())
	infratest.Fatal(t, <-started)
	infratest.Fatal(t, second.Stop())
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	if err := config.Lint(bolt.DefaultConfig()); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	infratest.Fatal(t, os.WriteFile(filepath.Join(dir, "junk.db"), []byte(strings.Repeat("x", 70000)), 0o600))
	newPlugin := func() kvtest.Plugin { return bolt.NewPlugin() }
	kvtest.Configuration(t, newPlugin, map[string]string{
		"":                              "db-path: expected",
		"db-path: x\nfile-mode: 0044":   "file-mode: 44",
		"db-path: x\nlock-timeout: -1s": "lock-timeout",
		"db-path: /nowhere/at/all/x":    "open /nowhere/at/all/x",
		"db-path: " + dir:               "open " + dir,
		"dbpath: x":                     "db-path",
		"db-path: " + dir + "/ok.db":    "",
		"db-path: " + dir + "/junk.db":  "junk.db: invalid database",
	})
}

func TestDuplicatesAreFiltered(t *testing.T) {
	t.Parallel()
	cfg := conf(filepath.Join(t.TempDir(), "bolt.db"))
	cfg.FilterDuplicates = true
	p := bolt.NewPlugin(bolt.UseConf(cfg))
	agenttest.Start(t, p)
	for _, v := range []string{"1", "1", "2"} {
		infratest.Fatal(t, p.DB().Put(t.Context(), "a", []byte(v)))
	}
	enough := errors.New("enough")
	var got []string
	err := p.DB().WatchFrom(t.Context(), "", 0, func(evs []kv.Event) error {
		got = append(got, string(evs[0].Value))
		if len(got) == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || strings.Join(got, " ") != "1 2" {
		t.Errorf("told %q, %v", got, err)
	}
}

// A watcher that is too slow for the journal gets ErrCompacted, and reads everything
// again when it follows.
func TestJournalIsBounded(t *testing.T) {
	t.Parallel()
	p := bolt.NewPlugin(bolt.UseConf(conf(filepath.Join(t.TempDir(), "bolt.db"))))
	agenttest.Start(t, p)
	var ops []kv.Op
	for i := range 9000 {
		ops = append(ops, kv.Op{Key: fmt.Sprint(i), Value: []byte("x")})
	}
	for range 4 {
		infratest.Fatal(t, p.DB().Txn(t.Context(), ops...))
	}
	if err := p.DB().WatchFrom(t.Context(), "", 0, nil); !errors.Is(err, kv.ErrCompacted) {
		t.Errorf("watch from the beginning: %v", err)
	}
	enough := errors.New("enough")
	err := p.DB().WatchFrom(t.Context(), "", 3, func(evs []kv.Event) error {
		if len(evs) != len(ops) {
			t.Errorf("%d events of a transaction of %d", len(evs), len(ops))
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Errorf("watch of the last transaction: %v", err)
	}
}

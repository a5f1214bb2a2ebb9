package orchestrator_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/datasync/kvdbsync"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// tamperedItems is the number of items in the store before the accident.
const tamperedItems = 6

// tampering is a store with tamperedItems interfaces, and what happens to it. It is the table of
// "Stores that lie" in docs/operations.md.
type tampering struct {
	// store returns the connector, which begins with its items. It is called for each agent.
	store func(t *testing.T) kv.Store
	// accident happens while the agent runs, or while it does not.
	accident func(t *testing.T)
	followed bool   // it is a request, not an accident
	reason   string // part of the reason
	left     int    // interfaces if it is followed
	repair   func(t *testing.T)
	onlyStop bool // it is only possible while the agent does not run
	items    int  // in the store before the accident; 0: tamperedItems
}

func (c tampering) before() int { return cmp.Or(c.items, tamperedItems) }

func (c tampering) start(t *testing.T, sb *kvstest.MockSB, m *memory) *world {
	t.Helper()
	store := c.store(t)
	label := servicelabel.NewPlugin()
	sync := kvdbsync.NewPlugin(kvdbsync.UseKV(store), kvdbsync.UseDeps(func(d *kvdbsync.Deps) { d.ServiceLabel = label }))
	return start(t, sb, orchestrator.UseWatchers(sync), orchestrator.UseCodec(codec(t)),
		orchestrator.UseConf(orchestrator.Config{InitialSyncTimeout: patience}),
		orchestrator.UseDeps(func(d *orchestrator.Deps) { d.State = m }))
}

func codec(t *testing.T) *document.Codec {
	t.Helper()
	set, err := allmodels.Set()
	fatal(t, err)
	return document.New(set)
}

func (c tampering) check(t *testing.T, w *world) {
	t.Helper()
	if c.followed {
		until(t, "the request is followed", func() bool { return w.present() == c.left })
		if g := w.onlyGuard(); g != nil {
			t.Errorf("it is a request, and not followed: %+v", g)
		}
		return
	}
	until(t, "the accident is noticed", func() bool { return w.onlyGuard() != nil })
	if g := w.onlyGuard(); !strings.Contains(g.Reason, c.reason) {
		t.Errorf("the reason is %q, want %q", g.Reason, c.reason)
	}
	if calls := changes(w.sb); len(calls) > 0 || w.present() != c.before() {
		t.Errorf("the accident made %q", calls)
	}
	if c.repair == nil {
		return
	}
	c.repair(t)
	until(t, "the store is followed again", func() bool { return w.onlyGuard() == nil })
	if calls := changes(w.sb); len(calls) > 0 || w.present() != c.before() {
		t.Errorf("the repair made %q", calls)
	}
}

func (w *world) onlyGuard() *orchestrator.GuardStatus {
	for _, s := range w.Sources() {
		if s.Guard != nil {
			return s.Guard
		}
	}
	return nil
}

func (c tampering) run(t *testing.T) {
	if !c.onlyStop {
		t.Run("live", func(t *testing.T) {
			w := c.start(t, nil, &memory{})
			until(t, "the items are configured", func() bool { return w.present() == c.before() })
			w.sb.TakeCalls()
			c.accident(t)
			c.check(t, w)
			w.stop()
		})
	}
	t.Run("restart", func(t *testing.T) {
		m := &memory{}
		w := c.start(t, nil, m)
		until(t, "the items are configured", func() bool { return w.present() == c.before() })
		w.stop()
		w.sb.TakeCalls()
		c.accident(t)
		w = c.start(t, w.sb, m)
		c.check(t, w)
		w.stop()
	})
}

// text is a file with interfaces.
func text(names ...int) string {
	var b strings.Builder
	b.WriteString("vppConfig:\n  interfaces:\n")
	for _, i := range names {
		fmt.Fprintf(&b, "  - {name: if%02d, mtu: 1}\n", i)
	}
	return b.String()
}

// Files: what is a request, and what may be an accident.
func TestFilesThatLie(t *testing.T) {
	t.Parallel()
	type files struct{ dir, a, b string }
	all := func(t *testing.T, f files) {
		fatal(t, os.MkdirAll(f.dir, 0o700))
		write(t, f.a, text(0, 1, 2))
		write(t, f.b, text(3, 4, 5))
	}
	put := func(text string) func(*testing.T, files) {
		return func(t *testing.T, f files) { write(t, f.a, text) }
	}
	remove := func(t *testing.T, f files) { fatal(t, os.Remove(f.a)) }
	for _, c := range []struct {
		name     string
		named    bool // configuration-paths names the files, not their directory
		accident func(t *testing.T, f files)
		reason   string // empty: it is followed
		left     int
	}{
		{name: "truncated", accident: put(""), reason: "a.yaml: the file is empty"},
		{name: "comments only", accident: put("# to do\n---\n"), reason: "a.yaml: the file has no items"},
		{name: "null", accident: put(`{"vppConfig":null}`), reason: "a.yaml: the file has no items"},
		{name: "empty lists", accident: put("vppConfig: {interfaces: []}\n"), reason: "a.yaml: the file has no items"},
		{name: "empty file renamed over it", reason: "a.yaml: the file is empty", accident: func(t *testing.T, f files) {
			write(t, f.a+".new", "")
			fatal(t, os.Rename(f.a+".new", f.a))
		}},
		{name: "explicitly empty", accident: put("# nothing here\n{}\n"), left: 3},
		{name: "all explicitly empty", left: 0, accident: func(t *testing.T, f files) { write(t, f.a, "{}"); write(t, f.b, " {} \n") }},
		{name: "some items removed", accident: put(text(0)), left: 4},
		{name: "replaced by an older copy", left: 5, accident: func(t *testing.T, f files) {
			older := time.Now().Add(-time.Hour)
			write(t, f.a+".old", text(0, 1))
			fatal(t, os.Chtimes(f.a+".old", older, older))
			fatal(t, os.Rename(f.a+".old", f.a))
		}},
		{name: "named file deleted", named: true, accident: remove, reason: "a.yaml: does not exist"},
		{name: "one file of a directory deleted", accident: remove, left: 3},
		{name: "all files of a directory deleted", reason: "the directory has no files", accident: func(t *testing.T, f files) {
			fatal(t, os.Remove(f.a))
			fatal(t, os.Remove(f.b))
		}},
		{name: "directory removed", accident: func(t *testing.T, f files) { fatal(t, os.RemoveAll(f.dir)) }, reason: "does not exist"},
		{name: "directory moved, and empty as a mount point", reason: "the directory has no files", accident: func(t *testing.T, f files) {
			fatal(t, os.Rename(f.dir, f.dir+".old"))
			fatal(t, os.Mkdir(f.dir, 0o700))
		}},
		{name: "dangling link", reason: "the target of the link does not exist", accident: func(t *testing.T, f files) {
			remove(t, f)
			fatal(t, os.Symlink("nowhere", f.a))
		}},
		{name: "named dangling link", named: true, reason: "a.yaml: does not exist", accident: func(t *testing.T, f files) {
			remove(t, f)
			fatal(t, os.Symlink("nowhere", f.a))
		}},
		{name: "directory in its place", reason: "is a directory, expected a file", accident: func(t *testing.T, f files) {
			remove(t, f)
			fatal(t, os.Mkdir(f.a, 0o700))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var f files
			part := ""
			tampering{
				store: func(t *testing.T) kv.Store {
					if part != t.Name() {
						part = t.Name()
						f.dir = filepath.Join(t.TempDir(), "conf")
						f.a, f.b = filepath.Join(f.dir, "a.yaml"), filepath.Join(f.dir, "b.yaml")
						all(t, f)
					}
					paths := []string{f.dir}
					if c.named {
						paths = []string{f.a, f.b}
					}
					return fileStore(t, paths...)
				},
				accident: func(t *testing.T) { c.accident(t, f) },
				followed: c.reason == "", reason: c.reason, left: c.left,
				repair: func(t *testing.T) {
					_ = os.RemoveAll(f.a)
					all(t, f)
				},
			}.run(t)
		})
	}
}

const prefix = "/vnf-agent/vpp1/"

// fill puts the items into a store.
func fill(t *testing.T, db kv.DB) {
	t.Helper()
	putAll(t, db, some(tamperedItems, 1))
}

// restoredOlder gives an etcd data without one of the items, and so many writes of another key, before
// the agent is connected again.
func restoredOlder(writes int) func(t *testing.T, p *kvtest.Process, db kv.DB) {
	return func(t *testing.T, p *kvtest.Process, db kv.DB) {
		defer p.Partition(t)()
		p.Stop()
		p.Wipe(t)
		p.Start(t)
		putAll(t, db, some(tamperedItems, 1)[1:])
		for range writes {
			fatal(t, db.Put(t.Context(), "/other", []byte("x")))
		}
	}
}

// Etcd that was emptied, restored or replaced.
func TestEtcdThatLies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		accident func(t *testing.T, p *kvtest.Process, db kv.DB)
		reason   string
		left     int
	}{
		{name: "restarted empty", reason: "the store went back from", accident: func(t *testing.T, p *kvtest.Process, _ kv.DB) {
			p.Stop()
			p.Wipe(t)
			p.Start(t)
		}},
		{name: "restored older data", reason: "its content would delete 1 of 6 items", accident: restoredOlder(0)},
		{name: "restored older data, and other keys written", reason: "its content would delete 1 of 6 items", accident: restoredOlder(100)}, // the revision is larger
		{name: "restarted with all data", accident: func(t *testing.T, p *kvtest.Process, _ kv.DB) { p.Restart(t) }, left: tamperedItems},
		{name: "connection silently dead", left: tamperedItems - 1, accident: func(t *testing.T, p *kvtest.Process, db kv.DB) {
			deadConnection(t, &serverUnderTest{process: p, db: db})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var p *kvtest.Process
			var db kv.DB
			conf := func() etcd.Config {
				cfg := etcd.DefaultConfig()
				cfg.Endpoints, cfg.ReconnectInterval, cfg.WatchTimeout = []string{p.Addr}, 100*time.Millisecond, shortWatch
				return cfg
			}
			runStore(t, tampering{
				accident: func(t *testing.T) { c.accident(t, p, db) }, followed: c.reason == "", reason: c.reason, left: c.left,
				repair: func(t *testing.T) { fill(t, db) },
			}, func(t *testing.T) {
				p = kvtest.Etcd(t)
				direct := conf()
				direct.Endpoints = []string{p.Direct}
				opened, closeDB, err := etcd.Open(direct)
				fatal(t, err)
				t.Cleanup(func() { _ = closeDB() })
				db = opened
				for range 50 {
					fatal(t, db.Put(t.Context(), "/other", []byte("x")))
				}
				fill(t, db)
			}, func() kv.Store { return etcd.NewPlugin(etcd.UseConf(conf())) })
		})
	}
	t.Run("other cluster", func(t *testing.T) {
		t.Parallel()
		var p *kvtest.Process
		endpoint := ""
		conf := func() etcd.Config {
			cfg := etcd.DefaultConfig()
			cfg.Endpoints = []string{endpoint}
			return cfg
		}
		runStore(t, tampering{reason: "this is another store (cluster", onlyStop: true, accident: func(t *testing.T) {
			endpoint = kvtest.Etcd(t).Addr
		}}, func(t *testing.T) {
			p = kvtest.Etcd(t)
			endpoint = p.Addr
			db, closeDB, err := etcd.Open(conf())
			fatal(t, err)
			t.Cleanup(func() { _ = closeDB() })
			fill(t, db)
		}, func() kv.Store { return etcd.NewPlugin(etcd.UseConf(conf())) })
	})
	t.Run("deleted by a client", func(t *testing.T) {
		t.Parallel()
		p := kvtest.Etcd(t)
		cfg := etcd.DefaultConfig()
		cfg.Endpoints = []string{p.Addr}
		db, closeDB, err := etcd.Open(cfg)
		fatal(t, err)
		defer func() { _ = closeDB() }()
		fill(t, db)
		w := tampering{store: func(*testing.T) kv.Store { return etcd.NewPlugin(etcd.UseConf(cfg)) }}.start(t, nil, &memory{})
		until(t, "the items are configured", func() bool { return w.present() == tamperedItems })
		_, err = db.Delete(t.Context(), prefix, kv.WithPrefix())
		fatal(t, err)
		until(t, "the events are followed", func() bool { return w.present() == 0 && w.onlyGuard() == nil })
	})
}

// runStore runs a case with a store that prepare makes for each of its parts.
func runStore(t *testing.T, c tampering, prepare func(t *testing.T), connector func() kv.Store) {
	t.Helper()
	prepared := ""
	c.store = func(t *testing.T) kv.Store {
		if prepared != t.Name() {
			prepared = t.Name()
			prepare(t)
		}
		return connector()
	}
	c.run(t)
}

// A bolt file that was removed, or replaced by an older copy.
func TestBoltThatLies(t *testing.T) {
	t.Parallel()
	var path string
	var older []byte
	conf := func() bolt.Config {
		cfg := bolt.DefaultConfig()
		cfg.DbPath = path
		return cfg
	}
	// edit opens the file as an agent would.
	edit := func(t *testing.T, f func(db kv.DB)) {
		p := bolt.NewPlugin(bolt.UseConf(conf()))
		stop := kvtest.Start(t, p)
		f(p.DB())
		stop()
	}
	for _, c := range []struct {
		name, reason string
		accident     func(t *testing.T)
	}{
		{"removed", "this is another store (file ", func(t *testing.T) { fatal(t, os.Remove(path)) }},
		{"older copy", "the store went back from 6 to 5", func(t *testing.T) { fatal(t, os.WriteFile(path, older, 0o600)) }},
		{"emptied", "the store is empty", func(t *testing.T) {
			edit(t, func(db kv.DB) {
				_, err := db.Delete(t.Context(), prefix, kv.WithPrefix())
				fatal(t, err)
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			runStore(t, tampering{reason: c.reason, accident: c.accident, onlyStop: true}, func(t *testing.T) {
				path = filepath.Join(t.TempDir(), "bolt.db")
				items := some(tamperedItems, 1)
				edit(t, func(db kv.DB) { putAll(t, db, items[:5]) })
				text, err := os.ReadFile(path)
				fatal(t, err)
				older = text
				edit(t, func(db kv.DB) { putAll(t, db, items[5:]) })
			}, func() kv.Store { return bolt.NewPlugin(bolt.UseConf(conf())) })
		})
	}
}

func putAll(t *testing.T, db kv.DB, items []orchestrator.KeyVal) {
	t.Helper()
	for _, it := range items {
		value, err := kv.Encode(it.Val)
		fatal(t, err)
		until(t, "the store takes "+it.Key, func() bool { return db.Put(t.Context(), prefix+it.Key, value) == nil }) // it may have just started
	}
}

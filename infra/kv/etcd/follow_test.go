package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// patience is how long a test waits for what must come; it is no measure.
const patience = 4 * time.Minute

// follow returns the updates as text.
func follow(t *testing.T, p *etcd.Plugin) <-chan string {
	t.Helper()
	updates := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- p.Watch(ctx, "/p/", func(u kv.Update) error {
			var s []string
			if u.Resync {
				s = append(s, "resync")
			}
			for _, ch := range u.Changes {
				if ch.Deleted {
					s = append(s, "-"+ch.Key)
				} else {
					s = append(s, fmt.Sprintf("%s=%s", ch.Key, ch.Value))
				}
			}
			updates <- strings.Join(s, " ")
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	return updates
}

func want(t *testing.T, updates <-chan string, text string) {
	t.Helper()
	select {
	case got := <-updates:
		if got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	case <-time.After(patience):
		t.Fatalf("no update, want %q", text)
	}
}

func put(t *testing.T, p *etcd.Plugin, kvs ...string) {
	t.Helper()
	for _, s := range kvs {
		key, value, _ := strings.Cut(s, "=")
		infratest.Fatal(t, p.DB().Put(t.Context(), "/p/"+key, []byte(value)))
	}
}

// health waits until the state of the plugin has the text.
func awaitHealth(t *testing.T, tree *health.Tree, state health.State, text string) {
	t.Helper()
	late := time.After(patience)
	for {
		got := tree.Snapshot().Plugins[0]
		if got.State == state && strings.Contains(got.Reason+got.Error, text) {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-late:
			t.Fatalf("health %+v, want %v with %q", got, state, text)
		}
	}
}

// direct is a second client, which sees the server when others do not.
func direct(t *testing.T, s *kvtest.Process) *etcd.Plugin {
	t.Helper()
	cfg := conf(s.Direct)
	cfg.ReconnectInterval = 10 * time.Millisecond
	p, _ := connect(t, cfg)
	return p
}

// cutOff does something while the proxy lets nothing through, and cuts the
// connections then.
func cutOff(s *kvtest.Process, f func()) {
	heal := s.Proxy.Partition()
	f()
	s.Proxy.Cut()
	heal()
}

func TestChangesMeanwhile(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	p, _ := connect(t, conf(s.Addr))
	other := direct(t, s)
	put(t, other, "a=1", "b=1")
	updates := follow(t, p)
	want(t, updates, "resync a=1 b=1")
	put(t, other, "c=1")
	want(t, updates, "c=1")

	t.Log("the history exists: the follower gets the changes, not the state")
	cutOff(s, func() { put(t, other, "a=2", "d=1", "a=3") })
	want(t, updates, "d=1 a=3")
	if _, err := other.Delete("/p/b"); err != nil {
		t.Fatal(err)
	}
	want(t, updates, "-b")

	t.Log("the history was compacted: the follower gets the differences of the state")
	cutOff(s, func() {
		put(t, other, "a=4", "d=1", "e=1")
		if _, err := other.Delete("/p/c"); err != nil {
			t.Fatal(err)
		}
		l, err := other.DB().List(t.Context(), "/p/")
		infratest.Fatal(t, err)
		compact(t, other, l.Revision)
	})
	want(t, updates, "a=4 e=1 -c")
}

func compact(t *testing.T, p *etcd.Plugin, revision int64) {
	t.Helper()
	if err := p.DB().(interface {
		Compact(ctx context.Context, revision int64) error
	}).Compact(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
}

// Another store at the same address has another history, whatever its
// revisions.
func TestAnotherStore(t *testing.T) {
	t.Parallel()
	for _, puts := range []int{0, 1, 20} { // with a lower, the same and a higher revision
		s := kvtest.Etcd(t)
		p, _ := connect(t, conf(s.Addr))
		updates := follow(t, p)
		want(t, updates, "resync")
		put(t, p, "a=1")
		want(t, updates, "a=1")
		heal := s.Proxy.Partition()
		s.Stop()
		s.Wipe(t)
		s.Start(t)
		s.Proxy.Cut()
		for range puts {
			put(t, direct(t, s), "b=1")
		}
		heal()
		if puts == 0 {
			want(t, updates, "-a")
			continue
		}
		want(t, updates, "b=1 -a")
	}
}

func TestSilentServer(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	tree := health.NewTree(nil)
	cfg := conf(s.Addr)
	cfg.OperationTimeout, cfg.WatchTimeout = etcd.DefaultConfig().OperationTimeout, 400*time.Millisecond
	p := etcd.NewPlugin(etcd.UseConf(cfg), etcd.UseDeps(func(d *etcd.Deps) { d.Health = tree.Plugin("etcd") }))
	agenttest.Start(t, p)
	kvtest.Silent(t, s, p, tree, direct(t, s), "no response")
}

func TestResyncAfterReconnect(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	cfg := conf(s.Addr)
	cfg.ResyncAfterReconnect = true
	p, _ := connect(t, cfg)
	updates := follow(t, p)
	want(t, updates, "resync")
	put(t, p, "a=1")
	want(t, updates, "a=1")
	s.Proxy.Cut()
	want(t, updates, "resync a=1")
}

func TestStartWithoutServer(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	s.Stop()
	tree := health.NewTree(nil)
	p := etcd.NewPlugin(etcd.UseConf(conf(s.Addr)), etcd.UseDeps(func(d *etcd.Deps) { d.Health = tree.Plugin("etcd") }))
	agenttest.Start(t, p)
	updates := follow(t, p)
	awaitHealth(t, tree, health.Degraded, "not connected")
	if err := p.Put("/p/a", wrapperspb.Bool(true)); err == nil || !strings.Contains(err.Error(), "put /p/a") {
		t.Errorf("put without a server: %v", err)
	}
	s.Start(t)
	want(t, updates, "resync")
	awaitHealth(t, tree, health.OK, "")

	cfg := conf(s.Addr)
	cfg.AllowDelayedStart = false
	connect(t, cfg)
	s.Stop()
	err := agenttest.New(t, agent.AllPlugins(etcd.NewPlugin(etcd.UseConf(cfg)))).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no response from "+s.Addr) {
		t.Errorf("start that must have a server: %v", err)
	}
}

// History is forgotten again and again, also after times in which nothing happened.
func TestAutoCompact(t *testing.T) {
	t.Parallel()
	s := kvtest.Etcd(t)
	other := direct(t, s)
	cfg := conf(s.Addr)
	cfg.AutoCompact = time.Second
	connect(t, cfg)
	for range 2 {
		put(t, other, "a=1", "a=2")
		awaitCompacted(t, other.DB(), present(t, other.DB()))
		<-time.After(3 * cfg.AutoCompact) // nothing depends on how often it is tried now
	}
}

// awaitCompacted waits until it is forgotten what happened before a revision.
func awaitCompacted(t *testing.T, db kv.DB, revision int64) {
	t.Helper()
	enough := errors.New("enough")
	late := time.After(patience)
	for {
		err := db.WatchFrom(t.Context(), "/p/", revision-2, func([]kv.Event) error { return enough })
		if errors.Is(err, kv.ErrCompacted) {
			return
		}
		if !errors.Is(err, enough) {
			t.Fatal(err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-late:
			t.Fatal("the history is still there")
		}
	}
}

// A store that was restored from a backup has gone back, although its revision has grown past the old
// one by the time that the follower looks: agents write when they connect again.
func TestRestoredStore(t *testing.T) {
	t.Parallel()
	for what, last := range map[string]func(t *testing.T, p *etcd.Plugin){
		"a put was the last change": func(t *testing.T, p *etcd.Plugin) { put(t, p, "a=2") },
		"a deletion was the last change": func(t *testing.T, p *etcd.Plugin) {
			put(t, p, "a=2")
			_, err := p.Delete("/p/b")
			infratest.Fatal(t, err)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := kvtest.Etcd(t)
			put(t, direct(t, s), "a=1", "b=1")
			s.Stop()
			restore := s.Backup(t)
			s.Start(t)
			p, _ := connect(t, conf(s.Addr))
			ctx, cancel := context.WithCancel(t.Context())
			ended, seen := make(chan error, 1), make(chan kv.Update, 20)
			go func() {
				ended <- p.Watch(ctx, "/p/", func(u kv.Update) error {
					seen <- u
					return nil
				})
			}()
			defer func() {
				cancel()
				infratest.Fatal(t, <-ended)
			}()
			before := (<-seen).Identity
			last(t, direct(t, s))
			for has := ""; has != "2"; {
				u := <-seen
				before = before.Then(u.Identity)
				for _, ch := range u.Changes {
					if ch.Key == "a" {
						has = fmt.Sprintf("%s", ch.Value)
					}
				}
			}
			heal := s.Proxy.Partition()
			s.Stop()
			restore()
			s.Start(t)
			s.Proxy.Cut()
			for range 20 {
				infratest.Fatal(t, direct(t, s).DB().Put(t.Context(), "/q/status", []byte("up")))
			}
			heal()
			for deadline := time.After(patience); ; {
				select {
				case u := <-seen:
					if before.WentBack(u.Identity) {
						return
					}
				case <-deadline:
					t.Fatal("the follower did not notice that the store went back")
				}
			}
		})
	}
}

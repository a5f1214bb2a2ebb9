package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
	"github.com/tenuto-dev/tenuto/infra/kv/consul"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/infra/kv/redis"
)

// output can be waited for.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // room for one
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) await(t *testing.T, text string) {
	t.Helper()
	late := time.After(90 * time.Second)
	for {
		o.mu.Lock()
		got := o.text.String()
		o.mu.Unlock()
		if strings.Contains(got, text) {
			return
		}
		select {
		case <-o.more:
		case <-late:
			t.Fatalf("no %q in\n%s", text, got)
		}
	}
}

// The tutorial works with every store.
func TestStores(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T) kv.Connector{
		"etcd": func(t *testing.T) kv.Connector {
			cfg := etcd.DefaultConfig()
			cfg.Endpoints = []string{kvtest.Etcd(t).Addr}
			return etcd.NewPlugin(etcd.UseConf(cfg))
		},
		"redis": func(t *testing.T) kv.Connector {
			cfg := redis.DefaultConfig()
			cfg.Endpoint = kvtest.Redis(t).Addr
			return redis.NewPlugin(redis.UseConf(cfg))
		},
		"consul": func(t *testing.T) kv.Connector {
			cfg := consul.DefaultConfig()
			cfg.Address = kvtest.Consul(t).Addr
			return consul.NewPlugin(consul.UseConf(cfg))
		},
		"bolt": func(t *testing.T) kv.Connector {
			cfg := bolt.DefaultConfig()
			cfg.DbPath = filepath.Join(t.TempDir(), "bolt.db")
			return bolt.NewPlugin(bolt.UseConf(cfg))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := &output{more: make(chan struct{}, 1)}
			s := store(t)
			a := newAgent(out, s, agent.QuitSignals(), agent.Environ(config.NoEnviron), agent.Args("--config-dir", t.TempDir()))
			if err := a.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			out.await(t, "me: Hello, 1\n")
			if err := s.DB().Put(t.Context(), prefix+"you", []byte(`{"text": "Hi"}`)); err != nil {
				t.Error(err)
			}
			out.await(t, "you: Hi\n")
			if err := s.DB().Put(t.Context(), prefix+"you", []byte("hm")); err != nil {
				t.Error(err)
			}
			out.await(t, "you mumbles: expected JSON")
			if _, err := s.Delete(prefix + "you"); err != nil {
				t.Error(err)
			}
			out.await(t, "you greets no longer\n")
			out.await(t, "me: Hello, 2\n")
			if err := a.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWithoutConfiguration(t *testing.T) {
	t.Parallel()
	out := &output{more: make(chan struct{}, 1)}
	a := newAgent(out, etcd.NewPlugin(), agent.QuitSignals(), agent.Environ(config.NoEnviron), agent.Args("--config-dir", t.TempDir()))
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	out.await(t, "etcd is disabled; give it a configuration with --etcd-config FILE\n")
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
}

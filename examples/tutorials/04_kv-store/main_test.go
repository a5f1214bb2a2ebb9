package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/examples/internal/exampletest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
	"github.com/tenuto-dev/tenuto/infra/kv/consul"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/infra/kv/redis"
)

// The tutorial works with every store.
func TestStores(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T) kv.Connector{
		"etcd": func(t *testing.T) kv.Connector {
			cfg := etcd.DefaultConfig()
			cfg.Endpoints, cfg.DialTimeout, cfg.OperationTimeout = []string{kvtest.Etcd(t).Addr}, time.Minute, time.Minute
			return etcd.NewPlugin(etcd.UseConf(cfg))
		},
		"redis": func(t *testing.T) kv.Connector {
			cfg := redis.DefaultConfig()
			cfg.Endpoint, cfg.DialTimeout, cfg.ReadTimeout = kvtest.Redis(t).Addr, time.Minute, time.Minute
			return redis.NewPlugin(redis.UseConf(cfg))
		},
		"consul": func(t *testing.T) kv.Connector {
			cfg := consul.DefaultConfig()
			cfg.Address, cfg.OperationTimeout = kvtest.Consul(t).Addr, time.Minute
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
			out := exampletest.NewOutput()
			s := store(t)
			a := newAgent(out, s, exampletest.Options(t)...)
			if err := a.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			out.Await(t, "me: Hello, 1\n")
			if err := s.DB().Put(t.Context(), prefix+"you", []byte(`{"text": "Hi"}`)); err != nil {
				t.Error(err)
			}
			out.Await(t, "you: Hi\n")
			if err := s.DB().Put(t.Context(), prefix+"you", []byte("hm")); err != nil {
				t.Error(err)
			}
			out.Await(t, "you mumbles: expected JSON")
			if _, err := s.Delete(prefix + "you"); err != nil {
				t.Error(err)
			}
			out.Await(t, "you greets no longer\n")
			out.Await(t, "me: Hello, 2\n")
			if err := a.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWithoutConfiguration(t *testing.T) {
	t.Parallel()
	out := exampletest.NewOutput()
	a := newAgent(out, etcd.NewPlugin(), exampletest.Options(t)...)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	out.Await(t, "etcd is disabled; give it a configuration with --etcd-config FILE\n")
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
}

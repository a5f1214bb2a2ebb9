package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/consul"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/redis"
)

// storeURL is the store of kvdb and of targets: that of --store, else etcd at
// --etcd-endpoints.
func (g *globals) storeURL() string { return cmp.Or(g.store, "etcd://"+g.etcdEndpoints) }

// storeName is the store for messages, without its password.
func (a *app) storeName() string {
	if a.global.store == "" {
		return a.global.etcdEndpoints
	}
	secret := strings.LastIndexByte(a.global.store, '@') + 1
	kind, _, isURL := strings.Cut(a.global.store, "://")
	if secret == 0 || !isURL {
		return a.global.store[secret:]
	}
	return kind + "://" + a.global.store[secret:]
}

// openStore prepares the connection to the store.
func (a *app) openStore() (db kv.DB, done func() error, err error) {
	kind, at, _ := strings.Cut(a.global.storeURL(), "://")
	switch kind {
	case "etcd":
		return etcd.Open(a.etcdConfig(at))
	case "consul":
		cfg, err := a.consulConfig(at)
		if err != nil {
			return nil, nil, err
		}
		return consul.Open(cfg)
	case "redis":
		cfg, err := a.redisConfig(at)
		if err != nil {
			return nil, nil, err
		}
		return redis.Open(cfg)
	}
	return nil, nil, errors.New("expected etcd://HOST:PORT,..., consul://[TOKEN@]HOST:PORT or redis://[:PASSWORD@]HOST:PORT[/DB]")
}

// etcdConfig returns the configuration of the connector of etcd.
func (a *app) etcdConfig(endpoints string) etcd.Config {
	cfg := etcd.DefaultConfig()
	for e := range strings.SplitSeq(endpoints, ",") {
		cfg.Endpoints = append(cfg.Endpoints, strings.TrimSpace(e))
	}
	cfg.DialTimeout = cmp.Or(a.file.EtcdDialTimeout, etcdDialTimeout)
	if t := a.storeTLS(); t != nil {
		cfg.CertFile, cfg.KeyFile, cfg.CAFile, cfg.InsecureSkipTLSVerify = t.CertFile, t.KeyFile, t.CAFile, t.SkipVerify
	}
	cfg.OperationTimeout = a.storeTimeout()
	return cfg
}

// storeTimeout returns the timeout of a request to the store.
func (a *app) storeTimeout() time.Duration { return cmp.Or(a.global.timeout, unbounded) }

// storeTLS returns how TLS is used to talk to the store; nil if it is not.
func (a *app) storeTLS() *tlsConfig {
	t := a.file.KVDBTLS
	if t == nil || t.Disabled {
		return nil
	}
	with := *t
	with.SkipVerify = t.SkipVerify || a.global.insecureTLS
	return &with
}

// address parses the part of a URL after the scheme.
func address(at string) (*url.URL, error) {
	u, err := url.Parse("store://" + at)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" { // the error has the password
		return nil, errors.New("expected host:port after the scheme")
	}
	return u, nil
}

func (a *app) consulConfig(at string) (cfg consul.Config, err error) {
	u, err := address(at)
	if err != nil {
		return cfg, err
	}
	cfg = consul.DefaultConfig()
	cfg.Address, cfg.Token = u.Host+u.Path, u.User.Username()
	if t := a.storeTLS(); t != nil {
		cfg.Address = "https://" + cfg.Address
		cfg.CertFile, cfg.KeyFile, cfg.CAFile, cfg.InsecureSkipVerify = t.CertFile, t.KeyFile, t.CAFile, t.SkipVerify
	}
	cfg.OperationTimeout = a.storeTimeout()
	return cfg, nil
}

func (a *app) redisConfig(at string) (cfg redis.Config, err error) {
	u, err := address(at)
	if err != nil {
		return cfg, err
	}
	cfg = redis.DefaultConfig()
	cfg.Endpoint = u.Host
	cfg.Password, _ = u.User.Password()
	if db := strings.Trim(u.Path, "/"); db != "" {
		if cfg.DB, err = strconv.Atoi(db); err != nil {
			return cfg, fmt.Errorf("%q: expected the number of a database", db)
		}
	}
	if t := a.storeTLS(); t != nil {
		cfg.TLS = redis.TLS{Enabled: true, SkipVerify: t.SkipVerify, CertFile: t.CertFile, KeyFile: t.KeyFile, CAFile: t.CAFile}
	}
	cfg.ReadTimeout = a.storeTimeout()
	return cfg, nil
}

// withStore connects to the store while f runs.
func (a *app) withStore(ctx context.Context, f func(ctx context.Context, db kv.DB) error) error {
	db, done, err := a.openStore()
	if err != nil {
		flag := "--store"
		if a.global.store == "" {
			flag = "--etcd-endpoints"
		}
		return fmt.Errorf("%s %s: %w", flag, a.storeName(), err)
	}
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	if err = f(ctx, db); err != nil && !errors.Is(err, kv.ErrNotFound) {
		err = fmt.Errorf("store at %s: %w", a.storeName(), err)
	}
	_ = done() // its error does not matter: the responses have arrived
	return err
}

package cmdutil

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/consul"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/redis"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
)

// etcdDialTimeout is the default timeout of the connection.
const etcdDialTimeout = 3 * time.Second

// unbounded stands for no timeout.
const unbounded = 1000 * time.Hour

// Store connects to the key-value store that agents are configured from.
type Store struct{ *Endpoint }

// storeURL is the store of kvdb and of targets: --store, or else etcd at --etcd-endpoints.
func (g *Flags) storeURL() string { return cmp.Or(g.Store, "etcd://"+g.EtcdEndpoints) }

// Name is the store for messages, without its password.
func (s *Store) Name() string {
	if s.Flags.Store == "" {
		return s.Flags.EtcdEndpoints
	}
	secret := strings.LastIndexByte(s.Flags.Store, '@') + 1
	kind, _, isURL := strings.Cut(s.Flags.Store, "://")
	if secret == 0 || !isURL {
		return s.Flags.Store[secret:]
	}
	return kind + "://" + s.Flags.Store[secret:]
}

// open prepares the connection to the store.
func (s *Store) open() (db kv.DB, done func() error, err error) {
	kind, at, _ := strings.Cut(s.Flags.storeURL(), "://")
	switch kind {
	case "etcd":
		return etcd.Open(s.etcdConfig(at))
	case "consul":
		cfg, err := s.consulConfig(at)
		if err != nil {
			return nil, nil, err
		}
		return consul.Open(cfg)
	case "redis":
		cfg, err := s.redisConfig(at)
		if err != nil {
			return nil, nil, err
		}
		return redis.Open(cfg)
	}
	return nil, nil, errors.New("expected etcd://HOST:PORT,..., consul://[TOKEN@]HOST:PORT or redis://[:PASSWORD@]HOST:PORT[/DB]")
}

// etcdConfig returns the configuration of the connector of etcd.
func (s *Store) etcdConfig(endpoints string) etcd.Config {
	cfg := etcd.DefaultConfig()
	for e := range strings.SplitSeq(endpoints, ",") {
		cfg.Endpoints = append(cfg.Endpoints, strings.TrimSpace(e))
	}
	cfg.DialTimeout = cmp.Or(s.File.EtcdDialTimeout, etcdDialTimeout)
	if t := s.tls(); t != nil {
		cfg.CertFile, cfg.KeyFile, cfg.CAFile, cfg.InsecureSkipTLSVerify = t.CertFile, t.KeyFile, t.CAFile, t.SkipVerify
	}
	cfg.OperationTimeout = s.timeout()
	return cfg
}

// timeout returns the timeout of a request to the store.
func (s *Store) timeout() time.Duration { return cmp.Or(s.Flags.Timeout, unbounded) }

// tls returns how TLS is used to talk to the store; nil if it is not.
func (s *Store) tls() *TLSConfig {
	t := s.File.KVDBTLS
	if t == nil || t.Disabled {
		return nil
	}
	with := *t
	with.SkipVerify = t.SkipVerify || s.Flags.InsecureTLS
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

func (s *Store) consulConfig(at string) (cfg consul.Config, err error) {
	u, err := address(at)
	if err != nil {
		return cfg, err
	}
	cfg = consul.DefaultConfig()
	cfg.Address, cfg.Token = u.Host+u.Path, u.User.Username()
	if t := s.tls(); t != nil {
		cfg.Address = "https://" + cfg.Address
		cfg.CertFile, cfg.KeyFile, cfg.CAFile, cfg.InsecureSkipVerify = t.CertFile, t.KeyFile, t.CAFile, t.SkipVerify
	}
	cfg.OperationTimeout = s.timeout()
	return cfg, nil
}

func (s *Store) redisConfig(at string) (cfg redis.Config, err error) {
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
	if t := s.tls(); t != nil {
		cfg.TLS = redis.TLS{Enabled: true, SkipVerify: t.SkipVerify, CertFile: t.CertFile, KeyFile: t.KeyFile, CAFile: t.CAFile}
	}
	cfg.ReadTimeout = s.timeout()
	return cfg, nil
}

// With connects to the store while f runs.
func (s *Store) With(ctx context.Context, f func(ctx context.Context, db kv.DB) error) error {
	db, done, err := s.open()
	if err != nil {
		flag := "--store"
		if s.Flags.Store == "" {
			flag = "--etcd-endpoints"
		}
		return fmt.Errorf("%s %s: %w", flag, s.Name(), err)
	}
	ctx, cancel := s.Flags.Bounded(ctx)
	defer cancel()
	if err = f(ctx, db); err != nil && !errors.Is(err, kv.ErrNotFound) {
		err = fmt.Errorf("store at %s: %w", s.Name(), err)
	}
	_ = done() // its error does not matter: the responses have arrived
	return err
}

// Key expands a short key.
func (s *Store) Key(key string) string {
	if strings.HasPrefix(key, "/") {
		return key
	}
	return servicelabel.NewPlugin().GetDifferentAgentPrefix(s.Flags.Label) + key
}

// On returns a command that does f with the store.
func (s *Store) On(f func(ctx context.Context, db kv.DB, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return s.With(cmd.Context(), func(ctx context.Context, db kv.DB) error { return f(ctx, db, args) })
	}
}

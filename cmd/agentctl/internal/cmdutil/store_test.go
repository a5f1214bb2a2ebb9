package cmdutil

import (
	"strings"
	"testing"
	"time"
)

// A store that is slow gets the time that --timeout gives it.
func TestKVDBTimeout(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]time.Duration{time.Minute: time.Minute, 20 * time.Millisecond: 20 * time.Millisecond, 0: unbounded} {
		s := &Store{&Endpoint{Flags: Flags{Timeout: timeout}}}
		consul, err1 := s.consulConfig("h:1")
		redis, err2 := s.redisConfig("h:1")
		for _, got := range []time.Duration{s.etcdConfig("h:1").OperationTimeout, consul.OperationTimeout, redis.ReadTimeout} {
			if got != want || err1 != nil || err2 != nil {
				t.Errorf("--timeout %v: a request may take %v, want %v", timeout, got, want)
			}
		}
	}
}

// The URL of a store says what the connector needs.
func TestStoreURL(t *testing.T) {
	t.Parallel()
	s := &Store{&Endpoint{Flags: Flags{Store: "redis://:pass@10.0.0.7:6379/3", Timeout: time.Second}}}
	s.File.KVDBTLS = &TLSConfig{CAFile: "ca.pem"}
	r, err := s.redisConfig(":pass@10.0.0.7:6379/3")
	if err != nil || r.Endpoint != "10.0.0.7:6379" || r.Password != "pass" || r.DB != 3 || !r.TLS.Enabled || r.TLS.CAFile != "ca.pem" || r.ReadTimeout != time.Second {
		t.Errorf("redis: %+v, %v", r, err)
	}
	c, err := s.consulConfig("token@10.0.0.7:8501")
	if err != nil || c.Address != "https://10.0.0.7:8501" || c.Token != "token" || c.CAFile != "ca.pem" || c.OperationTimeout != time.Second {
		t.Errorf("consul: %+v, %v", c, err)
	}
	if e := s.etcdConfig("10.0.0.7:1, 10.0.0.8:2"); len(e.Endpoints) != 2 || e.Endpoints[1] != "10.0.0.8:2" || e.CAFile != "ca.pem" {
		t.Errorf("etcd: %+v", e)
	}
	if _, err := s.redisConfig("10.0.0.7:6379/x"); err == nil || !strings.Contains(err.Error(), `"x": expected the number of a database`) {
		t.Errorf("a database x: %v", err)
	}
	if name := s.Name(); name != "redis://10.0.0.7:6379/3" {
		t.Errorf("the store is named %s", name)
	}
	for _, wrong := range []string{"redis:pass@10.0.0.7", "pass@10.0.0.7"} {
		if s.Flags.Store = wrong; s.Name() != "10.0.0.7" {
			t.Errorf("the store is named %s", s.Name())
		}
	}
}

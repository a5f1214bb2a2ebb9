package redis_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// A cluster reports everything from all of its servers, and a part of it may be
// away for a while.
func TestCluster(t *testing.T) {
	t.Parallel()
	servers := startCluster(t)
	cfg := conf("")
	for _, s := range servers {
		cfg.Endpoints = append(cfg.Endpoints, s.Direct)
	}
	p, _, _ := connect(t, cfg)
	recorder := kvtest.Record(t, p, "/p/")
	recorder.Await(1, "")
	var all []string
	for i := range 30 {
		put(t, p, fmt.Sprintf("%02d", i), "x")
		all = append(all, fmt.Sprintf("%02d=x", i))
	}
	recorder.Await(1, strings.Join(all, " "))
	if n, err := p.DB().Delete(t.Context(), "/p/2", kv.WithPrefix()); err != nil || n != 10 {
		t.Errorf("delete of a prefix: %d, %v, want 10", n, err)
	}
	all = all[:20]
	recorder.Await(1, strings.Join(all, " "))

	op := func(key, value string) kv.Op { return kv.Op{Key: "/p/" + key, Value: []byte(value)} }
	if err := p.DB().Txn(t.Context(), op("{same}1", "x"), op("{same}2", "y")); err != nil {
		t.Errorf("transaction in one slot: %v", err)
	}
	if err := p.DB().Txn(t.Context(), op("00", "y"), op("01", "y")); !errors.Is(err, kv.ErrNotSupported) {
		t.Errorf("transaction in several slots: %v", err)
	}
	if done, err := p.DB().CompareAndSwap(t.Context(), "/p/00", []byte("x"), []byte("y")); err != nil || !done {
		t.Errorf("compare and swap: %v, %v", done, err)
	}
	all[0] = "00=y"
	content := strings.Join(all, " ") + " {same}1=x {same}2=y"
	recorder.Await(1, content)
	servers[1].Restart(t)
	for { // until the servers have found together again
		if err := p.DB().Put(t.Context(), "/p/~", []byte("x")); err == nil {
			break
		}
	}
	recorder.Await(1, content+" ~=x")
}

// Sentinels promote the replica; followers get its content.
func TestSentinel(t *testing.T) {
	t.Parallel()
	master := kvtest.Redis(t)
	host, port, _ := net.SplitHostPort(master.Direct)
	replica := kvtest.Redis(t, "--replicaof", host, port, "--repl-diskless-sync-delay", "0")
	sentinel := kvtest.Sentinel(t, master)
	cfg := conf("")
	cfg.Endpoints, cfg.MasterName = []string{sentinel.Addr}, "test"
	p, _, _ := connect(t, cfg)
	recorder := kvtest.Record(t, p, "/p/")
	recorder.Await(1, "")
	put(t, p, "a", "1")
	recorder.Await(1, "a=1")
	awaitReply(t, replica, []string{"$1"}, "GET", "/p/a")
	awaitReply(t, sentinel, []string{"+OK"}, "SENTINEL", "FAILOVER", "test")
	awaitReply(t, sentinel, []string{"+OK"}, "SENTINEL", "CKQUORUM", "test")
	awaitReply(t, replica, []string{"*3"}, "ROLE") // it is the master
	// The sentinel would do this, too, but not as long as it does not trust its
	// clock, which is half a minute after each time that the machine stood still.
	host, port, _ = net.SplitHostPort(replica.Direct)
	master.Command(t, "REPLICAOF", host, port)
	awaitReply(t, master, []string{"*5"}, "ROLE") // what is given to the old one is lost no more
	for {
		if err := p.DB().Put(t.Context(), "/p/b", []byte("1")); err == nil {
			break
		}
	}
	recorder.Await(1, "a=1 b=1")
}

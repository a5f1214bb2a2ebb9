package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// lifetime keeps entries for as long as this agent lives: they hang on a lease
// that is renewed. If the lease is lost all the same, because the server was
// not reached for too long, they are put again.
type lifetime struct {
	d   *database // nil: none can be kept
	ttl int64     // seconds
	log logging.Logger

	mu      sync.Mutex // also held over requests: entries and lease belong together
	lease   int64      // 0: none
	entries map[string][]byte
	wanted  chan struct{} // closed when there is a lease to renew
	began   bool          // wanted is closed
}

func newLifetime(d *database, ttl int64, log logging.Logger) *lifetime {
	return &lifetime{d: d, ttl: ttl, log: log, entries: map[string][]byte{}, wanted: make(chan struct{})}
}

func (l *lifetime) put(ctx context.Context, key string, value []byte) error {
	if l.d == nil {
		return fmt.Errorf("this client does not renew what it puts: %w", kv.ErrNotSupported)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(ctx, key, value); err != nil {
		return err
	}
	l.entries[key] = value
	return nil
}

// write puts an entry, with a new lease if the old one is gone. The lock is
// held.
func (l *lifetime) write(ctx context.Context, key string, value []byte) error {
	for fresh := false; ; fresh = true {
		if l.lease == 0 {
			resp, err := l.d.leases.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: l.ttl})
			if err != nil {
				return err
			}
			l.lease = resp.ID
			if !l.began {
				l.began = true
				close(l.wanted)
			}
		}
		_, err := l.d.kv.Put(ctx, &pb.PutRequest{Key: []byte(key), Value: value, Lease: l.lease})
		if fresh || !is(err, rpctypes.ErrGRPCLeaseNotFound) {
			return err
		}
		l.lease = 0
	}
}

// forget makes entries ordinary ones, to be deleted or kept by others.
func (l *lifetime) forget(ops ...kv.Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, op := range ops {
		delete(l.entries, op.Key)
	}
}

func (l *lifetime) forgetBelow(prefix string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.entries {
		if strings.HasPrefix(key, prefix) {
			delete(l.entries, key)
		}
	}
}

// keep renews the lease until ctx ends.
func (l *lifetime) keep(ctx context.Context) {
	select {
	case <-l.wanted:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(time.Duration(l.ttl) * time.Second / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := l.renew(ctx); err != nil && ctx.Err() == nil {
			l.log.Debug("what this agent publishes for its lifetime was not renewed, it is tried again", "error", err)
		}
	}
}

// renew keeps the lease alive, or puts the entries on a new one if it is lost.
func (l *lifetime) renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := l.d.bounded(ctx)
	defer cancel()
	if l.lease != 0 {
		_, err := l.d.client.KeepAliveOnce(ctx, clientv3.LeaseID(l.lease))
		if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return explain(err)
		}
		l.log.Info("what this agent publishes for its lifetime had expired, it is put again")
		l.lease = 0
	}
	for key, value := range l.entries {
		if err := l.write(ctx, key, value); err != nil {
			l.lease = 0 // all of them again
			return explain(err)
		}
	}
	return nil
}

// end removes the entries. An unreachable server will do so when the lease
// expires.
func (l *lifetime) end(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == 0 {
		return nil
	}
	if _, err := l.d.leases.LeaseRevoke(ctx, &pb.LeaseRevokeRequest{ID: l.lease}); err != nil {
		l.log.Info("what this agent published for its lifetime expires with its lease", "seconds", l.ttl, "error", explain(err))
	}
	return nil
}

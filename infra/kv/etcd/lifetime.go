package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// lifetime keeps entries for as long as this agent lives: they are attached to
// a lease that it renews. If the lease expires because the server could not be
// reached, lifetime puts the entries again.
type lifetime struct {
	d   *database // nil: entries with this lifetime are not supported
	ttl int64     // in seconds
	log logging.Logger

	// mu is held for reading while entries are put on the lease, and for writing
	// while the lease is replaced or entries are removed, so that no request
	// undoes another.
	mu     sync.RWMutex
	lease  int64         // 0: there is no lease
	stale  bool          // entries of an earlier lease have not been put on this one
	wanted chan struct{} // closed when there is a lease to renew
	began  bool          // wanted is closed

	claimed *kv.Op // what Claim stored; nil: nothing

	entriesMu sync.Mutex
	entries   map[string][]byte
}

// errClaimed: another client has what this one had claimed.
var errClaimed = errors.New("another agent has claimed the label")

func newLifetime(d *database, ttl int64, log logging.Logger) *lifetime {
	return &lifetime{d: d, ttl: ttl, log: log, entries: map[string][]byte{}, wanted: make(chan struct{})}
}

func (l *lifetime) put(ctx context.Context, key string, value []byte) error {
	if l.d == nil {
		return fmt.Errorf("this client does not renew leases: %w", kv.ErrNotSupported)
	}
	if done, err := l.putNow(ctx, key, value); done {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(ctx, key, value); err != nil {
		return err
	}
	l.remember(key, value)
	return nil
}

// putNow puts an entry on the present lease, concurrently with other entries.
// done is false if there is no lease.
func (l *lifetime) putNow(ctx context.Context, key string, value []byte) (done bool, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.lease == 0 {
		return false, nil
	}
	_, err = l.d.kv.Put(ctx, &pb.PutRequest{Key: []byte(key), Value: value, Lease: l.lease})
	if is(err, rpctypes.ErrGRPCLeaseNotFound) {
		return false, nil
	}
	if err == nil {
		l.remember(key, value)
	}
	return true, err
}

// write puts an entry, on a new lease if the old one has expired. The lock is
// held.
func (l *lifetime) write(ctx context.Context, key string, value []byte) error {
	for fresh := false; ; fresh = true {
		if l.lease == 0 {
			if err := l.grant(ctx); err != nil {
				return err
			}
		}
		_, err := l.d.kv.Put(ctx, &pb.PutRequest{Key: []byte(key), Value: value, Lease: l.lease})
		if fresh || !is(err, rpctypes.ErrGRPCLeaseNotFound) {
			return err
		}
		l.lease, l.stale = 0, true
	}
}

// claim implements Claim of the database.
func (l *lifetime) claim(ctx context.Context, key string, old, value []byte) ([]byte, error) {
	if l.d == nil {
		return nil, fmt.Errorf("this client does not renew leases: %w", kv.ErrNotSupported)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	present, err := l.claimNow(ctx, key, old, value)
	if err == nil && present == nil {
		l.claimed = &kv.Op{Key: key, Value: value}
	}
	return present, err
}

// claimNow puts a value on the lease if there is none, or if it is old. The lock is held.
func (l *lifetime) claimNow(ctx context.Context, key string, old, value []byte) (present []byte, err error) {
	for fresh := false; ctx.Err() == nil; {
		if l.lease == 0 {
			if err := l.grant(ctx); err != nil {
				return nil, err
			}
			fresh = true
		}
		met := &pb.Compare{Key: []byte(key), Target: pb.Compare_CREATE, TargetUnion: &pb.Compare_CreateRevision{CreateRevision: 0}}
		if old != nil {
			met = &pb.Compare{Key: []byte(key), Target: pb.Compare_VALUE, TargetUnion: &pb.Compare_Value{Value: old}}
		}
		put := &pb.PutRequest{Key: []byte(key), Value: value, Lease: l.lease}
		get := &pb.RangeRequest{Key: []byte(key)}
		resp, err := l.d.kv.Txn(ctx, &pb.TxnRequest{
			Compare: []*pb.Compare{met},
			Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: put}}},
			Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{RequestRange: get}}},
		})
		switch {
		case !fresh && is(err, rpctypes.ErrGRPCLeaseNotFound):
			l.lease, l.stale = 0, true
			continue
		case err != nil || resp.Succeeded:
			return nil, err
		}
		if found := resp.Responses[0].GetResponseRange().GetKvs(); len(found) > 0 {
			return found[0].Value, nil
		}
		old = nil // it has expired
	}
	return nil, ctx.Err()
}

// reclaim puts the claimed entry on the present lease, before any other entry. The lock is held.
func (l *lifetime) reclaim(ctx context.Context) error {
	if l.claimed == nil {
		return nil
	}
	ctx, cancel := l.d.bounded(ctx)
	defer cancel()
	present, err := l.claimNow(ctx, l.claimed.Key, nil, l.claimed.Value)
	if err == nil && bytes.Equal(present, l.claimed.Value) { // on the lease of before
		present, err = l.claimNow(ctx, l.claimed.Key, present, l.claimed.Value)
	}
	if err == nil && present != nil {
		err = errClaimed
	}
	return err
}

func (l *lifetime) remember(key string, value []byte) {
	l.entriesMu.Lock()
	defer l.entriesMu.Unlock()
	l.entries[key] = value
}

func (l *lifetime) all() map[string][]byte {
	l.entriesMu.Lock()
	defer l.entriesMu.Unlock()
	return maps.Clone(l.entries)
}

// forget stops tracking entries: they will be deleted, or belong to others.
func (l *lifetime) forget(ops ...kv.Op) {
	l.forgetIf(func(entries map[string][]byte) {
		for _, op := range ops {
			delete(entries, op.Key)
		}
	})
}

func (l *lifetime) forgetBelow(prefix string) {
	l.forgetIf(func(entries map[string][]byte) {
		maps.DeleteFunc(entries, func(key string, _ []byte) bool { return strings.HasPrefix(key, prefix) })
	})
}

func (l *lifetime) forgetIf(forget func(entries map[string][]byte)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entriesMu.Lock()
	defer l.entriesMu.Unlock()
	forget(l.entries)
}

// keep renews the lease until ctx ends.
func (l *lifetime) keep(ctx context.Context) {
	select {
	case <-l.wanted:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(l.interval())
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := l.renew(ctx); err != nil && ctx.Err() == nil {
			l.log.Debug("cannot renew the lease of published keys; retrying", "error", err)
		}
	}
}

// renew renews the lease, or puts the entries on a new lease if it has
// expired.
func (l *lifetime) renew(ctx context.Context) error {
	lost, err := l.alive(ctx)
	if err != nil || lost < 0 {
		return err
	}
	l.log.Info("lease expired; republishing keys")
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == lost {
		l.lease = 0
	}
	return l.restore(ctx)
}

// alive renews the lease. It returns a lease that has expired or does not have
// all entries; -1 if there was none.
func (l *lifetime) alive(ctx context.Context) (lost int64, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.lease == 0 {
		return 0, nil
	}
	switch err := l.keepAlive(ctx); {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return l.lease, nil
	case err != nil:
		return -1, explain(err)
	case l.stale:
		return 0, nil // the lease has been renewed
	}
	return -1, nil
}

func (l *lifetime) keepAlive(ctx context.Context) error {
	ctx, cancel := l.d.bounded(ctx)
	defer cancel()
	_, err := l.d.client.KeepAliveOnce(ctx, clientv3.LeaseID(l.lease))
	return err
}

// restore puts all entries on the lease, with a new one if there is none. That
// may take longer than the TTL of the lease, so restore renews it meanwhile.
// The lock is held.
func (l *lifetime) restore(ctx context.Context) error {
	l.stale = true
	if l.lease == 0 {
		if err := l.grant(ctx); err != nil {
			return explain(err)
		}
	}
	if err := l.reclaim(ctx); err != nil {
		return explain(err)
	}
	var req pb.TxnRequest
	size, renewed := 0, time.Now()
	flush := func() error {
		if len(req.Success) == 0 {
			return nil
		}
		if time.Since(renewed) > l.interval() {
			if err := l.keepAlive(ctx); err != nil {
				return err
			}
			renewed = time.Now()
		}
		ctx, cancel := l.d.bounded(ctx)
		defer cancel()
		_, err := l.d.kv.Txn(ctx, &req)
		req.Success, size = nil, 0
		return err
	}
	for key, value := range l.all() {
		if len(req.Success) == txnOps || size > 0 && size+len(value) > txnBytes {
			if err := flush(); err != nil {
				return explain(err)
			}
		}
		put := &pb.PutRequest{Key: []byte(key), Value: value, Lease: l.lease}
		req.Success = append(req.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: put}})
		size += len(key) + len(value)
	}
	if err := flush(); err != nil {
		return explain(err)
	}
	l.stale = false
	return nil
}

// grant requests a lease. The lock is held.
func (l *lifetime) grant(ctx context.Context) error {
	ctx, cancel := l.d.bounded(ctx)
	defer cancel()
	resp, err := l.d.leases.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: l.ttl})
	if err != nil {
		return err
	}
	l.lease = resp.ID
	if !l.began {
		l.began = true
		close(l.wanted)
	}
	return nil
}

func (l *lifetime) interval() time.Duration { return time.Duration(l.ttl) * time.Second / 3 }

// end removes the entries. If the server is unreachable, they expire with the
// lease.
func (l *lifetime) end(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == 0 {
		return nil
	}
	if _, err := l.d.leases.LeaseRevoke(ctx, &pb.LeaseRevokeRequest{ID: l.lease}); err != nil {
		l.log.Info("cannot remove published keys; they expire with their lease", "seconds", l.ttl, "error", explain(err))
	}
	return nil
}

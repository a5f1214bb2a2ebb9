package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

var _ kv.Elector = (*database)(nil)

// Campaign implements kv.Elector.
func (d *database) Campaign(ctx context.Context, name string, value []byte, ttl time.Duration) (kv.Leadership, error) {
	s, err := d.newSession(ctx, ttl)
	if err != nil {
		return nil, wrap("campaign", name, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.Ctx(), cancel)()
	l := &leadership{d: d, session: s, election: concurrency.NewElection(s, name)}
	if err := l.election.Campaign(ctx, string(value)); err != nil {
		return nil, wrap("campaign", name, errors.Join(err, s.Close()))
	}
	return l, nil
}

// newSession makes a session with a lease of its own, which it renews.
func (d *database) newSession(ctx context.Context, ttl time.Duration) (*concurrency.Session, error) {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	seconds := int64((ttl + time.Second - 1) / time.Second)
	lease, err := d.leases.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: seconds})
	if err != nil {
		return nil, err
	}
	return concurrency.NewSession(d.client, concurrency.WithLease(clientv3.LeaseID(lease.ID)), concurrency.WithTTL(int(seconds)))
}

// Leader implements kv.Elector. The leader is the candidate with the oldest entry.
func (d *database) Leader(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	from, end := keyRange(name + "/")
	resp, err := d.kv.Range(ctx, &pb.RangeRequest{
		Key: from, RangeEnd: end, Limit: 1, SortOrder: pb.RangeRequest_ASCEND, SortTarget: pb.RangeRequest_CREATE,
	})
	if err == nil && len(resp.Kvs) == 0 {
		err = kv.ErrNotFound
	}
	if err != nil {
		return nil, wrap("leader", name, err)
	}
	return resp.Kvs[0].Value, nil
}

// leadership implements kv.Leadership.
type leadership struct {
	d        *database
	session  *concurrency.Session
	election *concurrency.Election
}

func (l *leadership) Lost() <-chan struct{} { return l.session.Done() }

// CompareAndSwap implements kv.Leadership: the entry of the leader has to be the one that it made.
func (l *leadership) CompareAndSwap(ctx context.Context, key string, old, value []byte) (bool, error) {
	ctx, cancel := l.d.bounded(ctx)
	defer cancel()
	same := unchanged(key, old)
	nested := &pb.TxnRequest{Compare: []*pb.Compare{same}, Success: []*pb.RequestOp{request(kv.Op{Key: key, Value: value})}}
	l.d.lifetime.forget(kv.Op{Key: key})
	resp, err := l.d.kv.Txn(ctx, &pb.TxnRequest{
		Compare: []*pb.Compare{l.leads()}, Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestTxn{RequestTxn: nested}}},
	})
	switch {
	case err != nil:
		return false, wrap("compare and swap", key, err)
	case !resp.Succeeded:
		return false, wrap("compare and swap", key, kv.ErrNotLeader)
	}
	return resp.Responses[0].GetResponseTxn().GetSucceeded(), nil
}

// leads returns the condition that this client is the leader.
func (l *leadership) leads() *pb.Compare {
	return &pb.Compare{
		Key: []byte(l.election.Key()), Result: pb.Compare_EQUAL, Target: pb.Compare_CREATE,
		TargetUnion: &pb.Compare_CreateRevision{CreateRevision: l.election.Rev()},
	}
}

// Delete implements kv.Leadership.
func (l *leadership) Delete(ctx context.Context, keys ...string) error {
	for part := range slices.Chunk(keys, txnOps) {
		if err := l.deleteAll(ctx, part); err != nil {
			return wrap("delete", part[0], err)
		}
	}
	return nil
}

// deleteAll deletes entries in one transaction.
func (l *leadership) deleteAll(ctx context.Context, keys []string) error {
	ctx, cancel := l.d.bounded(ctx)
	defer cancel()
	req := &pb.TxnRequest{Compare: []*pb.Compare{l.leads()}}
	for _, key := range keys {
		l.d.lifetime.forget(kv.Op{Key: key})
		req.Success = append(req.Success, request(kv.Op{Key: key}))
	}
	resp, err := l.d.kv.Txn(ctx, req)
	if err == nil && !resp.Succeeded {
		err = kv.ErrNotLeader
	}
	return err
}

// Resign implements kv.Leadership. If etcd cannot be reached, the entry expires.
func (l *leadership) Resign() error {
	if err := l.session.Close(); err != nil {
		return fmt.Errorf("etcd: resign: %w", explain(err))
	}
	return nil
}

// unchanged returns the condition that an entry has a value; nil: that there is none.
func unchanged(key string, old []byte) *pb.Compare {
	cmp := &pb.Compare{Key: []byte(key), Result: pb.Compare_EQUAL}
	if old == nil {
		cmp.Target, cmp.TargetUnion = pb.Compare_CREATE, &pb.Compare_CreateRevision{}
	} else {
		cmp.Target, cmp.TargetUnion = pb.Compare_VALUE, &pb.Compare_Value{Value: old}
	}
	return cmp
}

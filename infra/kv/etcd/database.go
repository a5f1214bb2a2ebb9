package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

const (
	// page is the number of entries in one response.
	page = 5000
	// maxReceived is the maximum size of a response, in bytes. An entry has 1.5
	// MiB at most.
	maxReceived = 1<<31 - 1
	// txnOps is the default limit of a server on the operations of a transaction
	// (max-txn-ops).
	txnOps = 128
	// txnBytes limits the size of the entries in one transaction. The default
	// limit of a server is 1.5 MiB (max-request-bytes).
	txnBytes = 1 << 20
)

// database implements kv.DB.
type database struct {
	client   *clientv3.Client
	kv       pb.KVClient
	watches  pb.WatchClient
	leases   pb.LeaseClient
	timeout  time.Duration // of a request
	silence  time.Duration // after which a watch counts as broken
	lifetime *lifetime

	// answers reports that the server responds to progress requests, as etcd does from 3.4 on.
	answers atomic.Bool
}

var (
	_ kv.DB        = (*database)(nil)
	_ kv.Directory = (*database)(nil)
)

func newDatabase(client *clientv3.Client, cfg Config) *database {
	conn := client.ActiveConnection()
	return &database{
		client: client, kv: pb.NewKVClient(conn), watches: pb.NewWatchClient(conn), leases: pb.NewLeaseClient(conn),
		timeout: cfg.OperationTimeout, silence: cfg.WatchTimeout,
	}
}

// Features reports that etcd supports all features.
func (d *database) Features() kv.Features {
	return kv.Features{Revisions: true, TTL: true, ClientTTL: true, TxnOps: txnOps, Shared: true}
}

// bounded returns a context with the timeout of one request.
func (d *database) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d.timeout)
}

// revision returns the present revision of the store.
func (d *database) revision(ctx context.Context, timeout time.Duration) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := d.kv.Range(ctx, &pb.RangeRequest{Key: []byte("/probe-etcd-connection"), KeysOnly: true})
	if err != nil {
		return 0, explain(err)
	}
	return resp.Header.Revision, nil
}

func (d *database) Get(ctx context.Context, key string) (kv.Item, error) {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	resp, err := d.kv.Range(ctx, &pb.RangeRequest{Key: []byte(key)}, grpc.MaxCallRecvMsgSize(maxReceived))
	if err == nil && len(resp.Kvs) == 0 {
		err = kv.ErrNotFound
	}
	if err != nil {
		return kv.Item{}, wrap("get", key, err)
	}
	it := resp.Kvs[0]
	return kv.Item{Key: key, Value: it.Value, Revision: it.ModRevision}, nil
}

// List implements kv.DB. It reads pages of the same revision.
func (d *database) List(ctx context.Context, prefix string, opts ...kv.ListOption) (kv.Listing, error) {
	from, end := keyRange(prefix)
	req := &pb.RangeRequest{Key: from, RangeEnd: end, Limit: page, KeysOnly: kv.CollectList(opts).KeysOnly}
	var l kv.Listing
	for {
		pctx, cancel := d.bounded(ctx)
		resp, err := d.kv.Range(pctx, req, grpc.MaxCallRecvMsgSize(maxReceived))
		cancel()
		if err != nil {
			return kv.Listing{}, wrap("list", prefix, err)
		}
		if req.Revision == 0 {
			req.Revision, l.Revision = resp.Header.Revision, resp.Header.Revision
			l.Identity = kv.Identity{Store: cluster(resp.Header), Revision: resp.Header.Revision}
			l.Items = make([]kv.Item, 0, resp.Count)
		}
		for _, it := range resp.Kvs {
			l.Items = append(l.Items, kv.Item{Key: string(it.Key), Value: it.Value, Revision: it.ModRevision})
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return l, nil
		}
		req.Key = append(resp.Kvs[len(resp.Kvs)-1].Key, 0)
	}
}

// cluster returns the ID of the cluster that sent a response.
func cluster(h *pb.ResponseHeader) string { return fmt.Sprintf("cluster %x", h.GetClusterId()) }

// Children implements kv.Directory, with one request for each child.
func (d *database) Children(ctx context.Context, prefix string) ([]string, error) {
	from, end := keyRange(prefix)
	var names []string
	for {
		pctx, cancel := d.bounded(ctx)
		resp, err := d.kv.Range(pctx, &pb.RangeRequest{Key: from, RangeEnd: end, Limit: 1, KeysOnly: true})
		cancel()
		if err != nil {
			return nil, wrap("list", prefix, err)
		}
		if len(resp.Kvs) == 0 {
			return names, nil
		}
		name, _, isChild := strings.Cut(strings.TrimPrefix(string(resp.Kvs[0].Key), prefix), "/")
		if !isChild {
			from = append(resp.Kvs[0].Key, 0)
			continue
		}
		names = append(names, name)
		from = []byte(clientv3.GetPrefixRangeEnd(prefix + name + "/"))
	}
}

// keyRange returns the range of keys that begin with a prefix.
func keyRange(prefix string) (from, end []byte) {
	if prefix == "" {
		return []byte{0}, []byte{0}
	}
	return []byte(prefix), []byte(clientv3.GetPrefixRangeEnd(prefix))
}

// Put implements kv.DB. A TTL is rounded up to whole seconds.
func (d *database) Put(ctx context.Context, key string, value []byte, opts ...kv.PutOption) error {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	o := kv.CollectPut(opts)
	if o.ClientLifetime {
		return wrap("put", key, d.lifetime.put(ctx, key, value))
	}
	d.lifetime.forget(kv.Op{Key: key})
	req := &pb.PutRequest{Key: []byte(key), Value: value}
	if o.TTL > 0 {
		lease, err := d.leases.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: int64((o.TTL + time.Second - 1) / time.Second)})
		if err != nil {
			return wrap("put", key, err)
		}
		req.Lease = lease.ID
	}
	_, err := d.kv.Put(ctx, req)
	return wrap("put", key, err)
}

// Claim implements kv.Claimer. The entry has the lifetime of this client.
func (d *database) Claim(ctx context.Context, key string, old, value []byte, _ time.Duration) ([]byte, error) {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	present, err := d.lifetime.claim(ctx, key, old, value)
	return present, wrap("claim", key, err)
}

func (d *database) Delete(ctx context.Context, key string, opts ...kv.DelOption) (int64, error) {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	req := &pb.DeleteRangeRequest{Key: []byte(key)}
	if kv.CollectDel(opts).Prefix {
		req.Key, req.RangeEnd = keyRange(key)
		d.lifetime.forgetBelow(key)
	} else {
		d.lifetime.forget(kv.Op{Key: key})
	}
	resp, err := d.kv.DeleteRange(ctx, req)
	if err != nil {
		return 0, wrap("delete", key, err)
	}
	return resp.Deleted, nil
}

func (d *database) Txn(ctx context.Context, ops ...kv.Op) error {
	if len(ops) == 0 {
		return nil
	}
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	last := kv.LastOps(ops)
	d.lifetime.forget(last...)
	var req pb.TxnRequest
	for _, op := range last {
		req.Success = append(req.Success, request(op))
	}
	_, err := d.kv.Txn(ctx, &req)
	if rpctypes.ErrorDesc(err) == rpctypes.ErrorDesc(rpctypes.ErrGRPCTooManyOps) {
		err = fmt.Errorf("%d changes exceed the limit of the server, which is %d by default (max-txn-ops)", len(last), txnOps)
	}
	return wrap("transaction", last[0].Key, err)
}

func request(op kv.Op) *pb.RequestOp {
	if op.Value == nil {
		return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(op.Key)}}}
	}
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(op.Key), Value: op.Value}}}
}

func (d *database) CompareAndSwap(ctx context.Context, key string, old, value []byte) (bool, error) {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	d.lifetime.forget(kv.Op{Key: key})
	resp, err := d.kv.Txn(ctx, &pb.TxnRequest{
		Compare: []*pb.Compare{unchanged(key, old)}, Success: []*pb.RequestOp{request(kv.Op{Key: key, Value: value})},
	})
	if err != nil {
		return false, wrap("compare and swap", key, err)
	}
	return resp.Succeeded, nil
}

// Compact drops the history before a revision. It returns ErrCompacted if that
// has been done before.
func (d *database) Compact(ctx context.Context, revision int64) error {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	_, err := d.kv.Compact(ctx, &pb.CompactionRequest{Revision: revision})
	return wrap("compact up to revision", fmt.Sprint(revision), err)
}

func wrap(what, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("etcd: %s %s: %w", what, key, explain(err))
}

// explain adds the remedy to an error of the server.
func explain(err error) error {
	st, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	switch {
	case is(err, rpctypes.ErrGRPCCompacted), is(err, rpctypes.ErrGRPCFutureRev):
		return fmt.Errorf("%w (%s)", kv.ErrCompacted, st.Message())
	case is(err, rpctypes.ErrGRPCNoSpace):
		return fmt.Errorf("the store is full and read-only: compact and defragment it, then disarm its alarm (%w)", err)
	case is(err, rpctypes.ErrGRPCNoLeader), is(err, rpctypes.ErrGRPCLeaderChanged), is(err, rpctypes.ErrGRPCTimeout):
		return fmt.Errorf("the cluster has no leader; check that a majority of its members is running (%w)", err)
	case st.Code() == codes.DeadlineExceeded:
		return fmt.Errorf("no response: %s (%w)", st.Message(), context.DeadlineExceeded)
	case st.Code() == codes.Canceled:
		return fmt.Errorf("%s (%w)", st.Message(), context.Canceled)
	case st.Code() == codes.Unavailable:
		return fmt.Errorf("not connected: %s", st.Message())
	}
	return errors.New(st.Message())
}

func is(err, want error) bool { return rpctypes.ErrorDesc(err) == rpctypes.ErrorDesc(want) }

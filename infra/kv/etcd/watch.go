package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/follow"
)

// session follows the store over one connection, see follow.Session.
func (d *database) session(ctx context.Context, v *follow.View) error {
	from, lost, err := d.resume(ctx, v)
	if err != nil {
		return err
	}
	for {
		if from == 0 {
			listing, err := d.List(ctx, v.Prefix())
			if err != nil {
				return err
			}
			if lost > 0 { // older data were restored
				listing.Identity.Revision, lost = min(listing.Identity.Revision, lost-1), 0
			}
			v.Replace(listing)
			from = listing.Revision
		}
		err := d.watch(ctx, v.Prefix(), from, v.Connected, func(events []kv.Event) error {
			v.Apply(events)
			return nil
		})
		if !v.Compacted(err) {
			return err
		}
		from = 0
	}
}

// resume returns the revision to continue from; 0 if everything has to be
// read. A session can continue from the last change it received if that was a
// put and the server, of the same cluster, has it, too.
//
// lost is the revision of the last put if the server has another history there: older data were
// restored, since the last session or since the agent stopped. The revision of the server says
// nothing about it, because agents write when they connect again.
func (d *database) resume(ctx context.Context, v *follow.View) (from, lost int64, err error) {
	put, of, ok := v.LastPut()
	if !ok {
		return 0, 0, nil
	}
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	resp, err := d.kv.Range(ctx, &pb.RangeRequest{Key: []byte(put.Key), Revision: put.Revision, KeysOnly: true})
	switch err = explain(err); {
	case errors.Is(err, kv.ErrCompacted):
		return 0, 0, nil
	case err != nil:
		return 0, 0, err
	case cluster(resp.Header) != of.Store:
		return 0, 0, nil
	case len(resp.Kvs) == 0 || resp.Kvs[0].ModRevision != put.Revision:
		return 0, put.Revision, nil
	}
	if last, ok := v.Last(); ok && !last.Deleted {
		return last.Revision, 0, nil
	}
	return 0, 0, nil
}

func (d *database) WatchFrom(ctx context.Context, prefix string, revision int64, handle func([]kv.Event) error) error {
	err := d.watch(ctx, prefix, revision, func() {}, func(events []kv.Event) error {
		for len(events) > 0 {
			n := 1
			for n < len(events) && events[n].Revision == events[0].Revision {
				n++
			}
			if err := handle(events[:n]); err != nil {
				return err
			}
			events = events[n:]
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		return nil
	}
	return err
}

// watch passes the events after a revision to handle. began is called when the
// server has confirmed the watch.
func (d *database) watch(ctx context.Context, prefix string, revision int64, began func(), handle func([]kv.Event) error) error {
	if err := d.notFuture(ctx, revision); err != nil {
		return wrap("watch", prefix, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// With a leader required, a member that is partitioned from the others ends
	// the watch instead of staying silent.
	stream, err := d.watches.Watch(clientv3.WithRequireLeader(ctx), grpc.MaxCallRecvMsgSize(maxReceived))
	if err != nil {
		return wrap("watch", prefix, err)
	}
	from, end := keyRange(prefix)
	create := &pb.WatchCreateRequest{Key: from, RangeEnd: end, StartRevision: revision + 1, Fragment: true}
	err = stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: create}})
	if err != nil && !errors.Is(err, io.EOF) { // Recv returns the reason
		return wrap("watch", prefix, err)
	}
	p := pulse{d: d, stream: stream}
	var prober sync.WaitGroup
	defer prober.Wait()
	defer cancel(nil)
	prober.Go(func() { p.probe(ctx, cancel) })
	var events []kv.Event
	for {
		resp, err := stream.Recv()
		if silent := context.Cause(ctx); errors.Is(silent, errSilent) {
			err = silent
		}
		if err != nil {
			return wrap("watch", prefix, err)
		}
		p.heard(resp)
		switch {
		case resp.CompactRevision > 0:
			return wrap("watch", prefix, fmt.Errorf("%w (compacted up to revision %d)", kv.ErrCompacted, resp.CompactRevision))
		case resp.Canceled:
			return wrap("watch", prefix, status.Error(codes.Unavailable, resp.CancelReason))
		case resp.Created:
			// Checked again: the server may have been replaced between the first check
			// and the watch.
			if resp.Header.Revision < revision {
				if err := d.notFuture(ctx, revision); err != nil {
					return wrap("watch", prefix, err)
				}
			}
			began()
		}
		for _, ev := range resp.Events {
			events = append(events, event(ev))
		}
		if resp.Fragment || len(events) == 0 {
			continue
		}
		if err := handle(events); err != nil {
			return err
		}
		events = nil
	}
}

// errSilent: a watch is broken although its connection may not be.
var errSilent = errors.New("no response on the watch")

// pulse finds out whether the server still sends on a watch. A firewall or proxy may drop its
// packets without closing it; a proxy may even respond to the pings of the connection.
type pulse struct {
	d      *database
	stream pb.Watch_WatchClient

	sent    atomic.Bool // the server has sent something since the last probe
	created atomic.Bool // the server has confirmed the watch
}

// heard records a response.
func (p *pulse) heard(resp *pb.WatchResponse) {
	p.sent.Store(true)
	if resp.Created {
		p.created.Store(true)
	} else if !resp.Canceled && len(resp.Events) == 0 {
		p.d.answers.Store(true)
	}
}

// probe regularly requests a response, until ctx ends. It cancels the watch with errSilent
// if there is none. Servers that do not know such requests ignore them.
func (p *pulse) probe(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(p.d.silence / 2)
	defer tick.Stop()
	request := &pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}}
	for {
		if err := p.stream.Send(request); err != nil {
			return // Recv returns the reason
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if !p.sent.Swap(false) && (p.d.answers.Load() || !p.created.Load()) {
			cancel(fmt.Errorf("%w for %v", errSilent, p.d.silence))
			return
		}
	}
}

// notFuture checks that a revision has been reached. The server would send
// nothing until a later one is.
func (d *database) notFuture(ctx context.Context, revision int64) error {
	now, err := d.revision(ctx, d.timeout)
	if err == nil && now < revision {
		err = fmt.Errorf("%w (%d; the store is at %d)", kv.ErrCompacted, revision, now)
	}
	return err
}

func event(ev *mvccpb.Event) kv.Event {
	e := kv.Event{Item: kv.Item{Key: string(ev.Kv.Key), Revision: ev.Kv.ModRevision}, Deleted: ev.Type == mvccpb.Event_DELETE}
	if !e.Deleted {
		e.Value = ev.Kv.Value
	}
	return e
}

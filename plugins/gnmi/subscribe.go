package gnmi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/apierr"
)

// Subscribe implements the call.
func (s *service) Subscribe(stream rpc.BidiStreamingServer[gpb.SubscribeRequest, gpb.SubscribeResponse]) error {
	req, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return nil // the client asks for nothing
	}
	if err != nil {
		return err
	}
	sub, err := s.subscribed(req)
	if err != nil {
		return err
	}
	sub.send = stream.Send
	switch sub.list.GetMode() {
	case gpb.SubscriptionList_ONCE:
		return sub.once(stream.Context())
	case gpb.SubscriptionList_POLL:
		return sub.poll(stream)
	}
	return sub.stream(stream.Context())
}

// subscriber is a client of Subscribe.
type subscriber struct {
	*service
	list *gpb.SubscriptionList
	subs []*subscription
	send func(*gpb.SubscribeResponse) error
}

// subscribed reads the first request of a stream.
func (s *service) subscribed(req *gpb.SubscribeRequest) (*subscriber, error) {
	list := req.GetSubscribe()
	if list == nil {
		return nil, apierr.Violations{{Field: "subscribe", Text: "expected it in the first request"}}.QueryStatus()
	}
	if err := checkExtensions(req.GetExtension()); err != nil {
		return nil, err
	}
	if err := checkEncoding(list.GetEncoding()); err != nil {
		return nil, err
	}
	if err := s.checkPrefix(list.GetPrefix()); err != nil {
		return nil, err
	}
	if _, known := gpb.SubscriptionList_Mode_name[int32(list.GetMode())]; !known {
		return nil, apierr.Violations{{Field: "subscribe.mode", Text: fmt.Sprintf("%d: expected STREAM, ONCE or POLL", list.GetMode())}}.QueryStatus()
	}
	if err := checkPaths("subscribe.subscription", len(list.GetSubscription())); err != nil {
		return nil, err
	}
	only, err := s.only(list.GetUseModels())
	if err != nil {
		return nil, err
	}
	paths := make([]*gpb.Path, len(list.GetSubscription()))
	for i, one := range list.GetSubscription() {
		paths[i] = one.GetPath()
	}
	sels, err := s.selections(list.GetPrefix(), paths, "subscribe.subscription", only)
	if err != nil {
		return nil, err
	}
	sub := &subscriber{service: s, list: list}
	if err := sub.plan(sels).QueryStatus(); err != nil {
		return nil, err
	}
	return sub, nil
}

// plan makes the subscriptions; each has trees that are followed in the same way.
func (sub *subscriber) plan(sels []*selection) (wrong apierr.Violations) {
	for i, one := range sub.list.GetSubscription() {
		for _, onChange := range []bool{true, false} {
			sel := *sels[i]
			sel.trees = sub.treesOf(&sel, one.GetMode(), onChange)
			if len(sel.trees) == 0 {
				continue
			}
			next := &subscription{sel: &sel, onChange: onChange, sent: map[sentKey]sent{}}
			if sub.list.GetMode() == gpb.SubscriptionList_STREAM {
				wrong = append(wrong, next.intervals(one, sub.cfg, fmt.Sprintf("subscribe.subscription[%d]", i))...)
			}
			sub.subs = append(sub.subs, next)
		}
	}
	return wrong
}

// treesOf returns the trees of a selection that are followed by their changes, or those that are
// read.
func (sub *subscriber) treesOf(sel *selection, mode gpb.SubscriptionMode, onChange bool) []*tree {
	return slices.DeleteFunc(slices.Clone(sel.trees), func(t *tree) bool {
		switch {
		case sub.list.GetMode() != gpb.SubscriptionList_STREAM:
			return onChange
		case mode == gpb.SubscriptionMode_ON_CHANGE && t.node == nil && !sel.named:
			return true // the path selects other trees, too
		case mode == gpb.SubscriptionMode_TARGET_DEFINED:
			return (t.node != nil) != onChange
		}
		return (mode == gpb.SubscriptionMode_ON_CHANGE) != onChange
	})
}

// once sends what there is.
func (sub *subscriber) once(ctx context.Context) error {
	if !sub.list.GetUpdatesOnly() {
		if err := sub.snapshot(ctx, sub.subs, true); err != nil {
			return err
		}
	}
	return sub.sync()
}

// poll sends what there is at first, and whenever the client polls; with updates_only, what
// has changed since the last time.
func (sub *subscriber) poll(stream rpc.BidiStreamingServer[gpb.SubscribeRequest, gpb.SubscribeResponse]) error {
	all := !sub.list.GetUpdatesOnly()
	if err := sub.begin(stream.Context()); err != nil {
		return err
	}
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if req.GetPoll() == nil {
			return apierr.Violations{{Field: "poll", Text: "expected it, as the mode of the subscription is POLL"}}.QueryStatus()
		}
		if err := sub.snapshot(stream.Context(), sub.subs, all); err != nil {
			return err
		}
		if err := sub.sync(); err != nil {
			return err
		}
	}
}

// begin sends what there is, followed by sync_response; with updates_only it only notes it.
func (sub *subscriber) begin(ctx context.Context) error {
	send := sub.send
	if sub.list.GetUpdatesOnly() {
		sub.send = func(*gpb.SubscribeResponse) error { return nil }
	}
	err := sub.snapshot(ctx, sub.subs, true)
	sub.send = send
	if err != nil {
		return err
	}
	return sub.sync()
}

func (sub *subscriber) sync() error {
	return sub.send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}})
}

// snapshot sends what subscriptions have; without all, what has changed since the last time.
// Nodes that are gone are deleted.
func (sub *subscriber) snapshot(ctx context.Context, subs []*subscription, all bool) error {
	out := sub.batch()
	for _, one := range subs {
		nodes, err := sub.nodes(ctx, one.sel)
		if err != nil {
			return err
		}
		there := make(map[sentKey]bool, len(nodes))
		for i := range nodes {
			there[keyOfNode(&nodes[i])] = true
			if err := out.node(one, &nodes[i], all); err != nil {
				return err
			}
		}
		for key, last := range one.sent {
			if !there[key] {
				if err := out.delete(one, key, last); err != nil {
					return err
				}
			}
		}
	}
	return out.flush()
}

// changed sends the nodes with the given keys that have changed.
func (sub *subscriber) changed(ctx context.Context, keys []string) error {
	out := sub.batch()
	for _, key := range keys {
		m := sub.modelOf(key)
		if m == nil {
			continue
		}
		for _, one := range sub.subs {
			if !one.onChange || !slices.Contains(one.sel.models, m) {
				continue
			}
			for _, t := range one.sel.trees {
				if err := sub.follow(ctx, out, one, t, m, key); err != nil {
					return err
				}
			}
		}
	}
	return out.flush()
}

func (sub *subscriber) follow(ctx context.Context, out *batch, one *subscription, t *tree, m *model, key string) error {
	n, ok := t.node(ctx, m, key)
	if ok && one.sel.has(m, key, n.item.ProtoReflect()) {
		return out.node(one, &n, false)
	}
	at := sentKey{t, key}
	if last, was := one.sent[at]; was {
		return out.delete(one, at, last)
	}
	return nil
}

// Limits of a notification. The default limit of clients is 4 MiB.
const (
	batchUpdates = 1000
	batchBytes   = 1 << 20
)

// batch collects updates to notifications.
type batch struct {
	sub  *subscriber
	n    *gpb.Notification
	size int
}

func (sub *subscriber) batch() *batch {
	return &batch{sub: sub, n: notification(sub.list.GetPrefix(), nil)}
}

// node adds a node; without always, only if it differs from what was sent last.
func (b *batch) node(one *subscription, n *node, always bool) error {
	key := keyOfNode(n)
	last, was := one.sent[key]
	u, err := n.update(one.sel.pathIn(n.tree, n.model), b.sub.list.GetEncoding())
	switch {
	case err != nil:
		return err
	case u == nil && was:
		return b.delete(one, key, last)
	case u == nil:
		return nil
	}
	now := sent{model: n.model, item: n.item, sum: sum(u.Val)}
	if !always && was && last.sum == now.sum {
		return nil
	}
	one.sent[key] = now
	b.n.Update = append(b.n.Update, u)
	return b.added(proto.Size(u))
}

func (b *batch) delete(one *subscription, key sentKey, last sent) error {
	delete(one.sent, key)
	n := node{tree: key.tree, model: last.model, key: key.key, item: last.item}
	p := n.path(one.sel.pathIn(key.tree, last.model))
	b.n.Delete = append(b.n.Delete, p)
	return b.added(proto.Size(p))
}

func (b *batch) added(size int) error {
	if b.size += size; b.size < batchBytes && len(b.n.Update)+len(b.n.Delete) < batchUpdates {
		return nil
	}
	return b.flush()
}

// flush sends the collected updates.
func (b *batch) flush() error {
	if len(b.n.Update)+len(b.n.Delete) == 0 {
		return nil
	}
	b.n.Timestamp = time.Now().UnixNano()
	err := b.sub.send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: b.n}})
	b.n, b.size = notification(b.sub.list.GetPrefix(), nil), 0
	return err
}

// ended is the status of a stream whose context has ended.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return status.Error(codes.Unavailable, "the agent stops")
	}
	return status.FromContextError(ctx.Err()).Err()
}

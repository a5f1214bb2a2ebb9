package govppmux

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/memclnt"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
)

// NewAPIChannel returns a channel of govpp, for code that was written for the predecessor.
// Its requests wait until VPP is connected, for the reply timeout at most. New code uses
// Conn. The channel ends with the plugin at the latest.
func (p *Plugin) NewAPIChannel() (api.Channel, error) {
	ctx, cancel := context.WithCancel(p.Context())
	return &channel{plugin: p, ctx: ctx, cancel: cancel}, nil
}

// NewAPIChannelBuffered is NewAPIChannel: the sizes of buffers have no effect.
func (p *Plugin) NewAPIChannelBuffered(_, _ int) (api.Channel, error) { return p.NewAPIChannel() }

// channel implements api.Channel. Each request has a stream of its own.
type channel struct {
	plugin *Plugin
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	timeout time.Duration // of SetReplyTimeout
	limited bool          // SetReplyTimeout was called
}

func (c *channel) Close() { c.cancel() }

// SetReplyTimeout replaces the reply timeout of the configuration for the requests of this
// channel; 0 disables it.
func (c *channel) SetReplyTimeout(timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timeout, c.limited = timeout, true
}

// patience returns the time that a request may take: to connect, and to get a reply. 0: no
// limit.
func (c *channel) patience() (connect, reply time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limited {
		return c.timeout, c.timeout
	}
	return c.plugin.cfg.ReplyTimeout, 0 // the connection has its own timeout
}

// CheckCompatiblity returns an error that names the messages that the connected VPP lacks.
func (c *channel) CheckCompatiblity(msgs ...api.Message) error {
	if err := c.plugin.Conn().Err(); err != nil {
		return err
	}
	missing := &api.CompatibilityError{}
	for _, msg := range msgs {
		name := msg.GetMessageName() + "_" + msg.GetCrcString()
		if c.plugin.Conn().Has(msg) {
			missing.CompatibleMessages = append(missing.CompatibleMessages, name)
		} else {
			missing.IncompatibleMessages = append(missing.IncompatibleMessages, name)
		}
	}
	if len(missing.IncompatibleMessages) > 0 {
		return missing
	}
	return nil
}

func (c *channel) SendRequest(msg api.Message) api.RequestCtx { return &oneReply{c.send(msg)} }

func (c *channel) SendMultiRequest(msg api.Message) api.MultiRequestCtx {
	return &manyReplies{exchange: c.send(msg, &memclnt.ControlPing{})}
}

// exchange is a request that was sent.
type exchange struct {
	request string // its name
	reply   time.Duration
	stream  api.Stream
	cancel  context.CancelFunc
	err     error
}

func (c *channel) send(msgs ...api.Message) *exchange {
	ctx, cancel := context.WithCancel(c.ctx)
	x := &exchange{request: msgs[0].GetMessageName(), cancel: cancel}
	var connect time.Duration
	connect, x.reply = c.patience()
	if x.err = c.connected(ctx, connect); x.err == nil {
		x.stream, x.err = c.plugin.Conn().NewStream(ctx)
	}
	for _, msg := range msgs {
		if x.err == nil {
			x.err = x.stream.SendMsg(msg)
		}
	}
	if x.err != nil {
		x.err = &binapi.RequestError{Message: x.request, Err: x.err}
		x.end()
	}
	return x
}

// connected waits for a session.
func (c *channel) connected(ctx context.Context, patience time.Duration) error {
	if patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	session, err := c.plugin.WaitSession(ctx, 0)
	switch {
	case err == nil:
		return nil
	case c.ctx.Err() != nil:
		return fmt.Errorf("the channel is closed: %w", binapi.ErrClosed)
	case session.Err != nil:
		return session.Err
	}
	return err
}

// end releases the stream.
func (x *exchange) end() {
	x.cancel()
	if x.stream != nil {
		_ = x.stream.Close()
	}
}

// receive waits for the next message.
func (x *exchange) receive() (api.Message, error) {
	if x.err != nil {
		return nil, x.err
	}
	late := func() bool { return true }
	if x.reply > 0 {
		late = time.AfterFunc(x.reply, x.cancel).Stop
	}
	msg, err := x.stream.RecvMsg()
	if !late() {
		err = binapi.ErrReplyTimeout
	}
	if err != nil {
		x.err = &binapi.RequestError{Message: x.request, Sent: true, Err: err}
		x.end()
	}
	return msg, x.err
}

// fill copies a received message, and returns the error that its retval stands for.
func (x *exchange) fill(into, got api.Message) error {
	to, from := reflect.ValueOf(into), reflect.ValueOf(got)
	if to.Kind() != reflect.Pointer || to.IsNil() || to.Type() != from.Type() {
		return fmt.Errorf("%s: VPP answered %T, expected %T", x.request, got, into)
	}
	to.Elem().Set(from.Elem())
	if retval := to.Elem().FieldByName("Retval"); retval.IsValid() && retval.CanInt() {
		return api.RetvalToVPPApiError(int32(retval.Int()))
	}
	return nil
}

type oneReply struct{ *exchange }

// ReceiveReply waits for the reply. An error that VPP answered is an api.VPPApiError.
func (o *oneReply) ReceiveReply(msg api.Message) error {
	got, err := o.receive()
	if err != nil {
		return err
	}
	o.end()
	o.err = fmt.Errorf("%s: the reply was received before: %w", o.request, binapi.ErrClosed)
	return o.fill(msg, got)
}

type manyReplies struct {
	*exchange
	last bool
}

// ReceiveReply waits for the next record, or for the end.
func (m *manyReplies) ReceiveReply(msg api.Message) (lastReplyReceived bool, err error) {
	if m.last {
		return true, nil
	}
	got, err := m.receive()
	if err != nil {
		return false, err
	}
	if _, isEnd := got.(*memclnt.ControlPingReply); isEnd {
		m.last = true
		m.end()
		return true, nil
	}
	return false, m.fill(msg, got)
}

// SubscribeNotification sends events to notifChan until Unsubscribe, or the end of the
// channel. Those for which it has no place are dropped.
func (c *channel) SubscribeNotification(notifChan chan api.Message, event api.Message) (api.SubscriptionCtx, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	watcher, err := c.plugin.Conn().WatchEvent(ctx, event)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &subscription{cancel: cancel, ended: make(chan struct{})}
	c.plugin.Go(func(context.Context) {
		defer close(s.ended)
		defer watcher.Close()
		s.forward(ctx, watcher, notifChan, c.plugin)
	})
	return s, nil
}

type subscription struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

func (s *subscription) forward(ctx context.Context, watcher api.Watcher, to chan api.Message, p *Plugin) {
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-watcher.Events():
			if !open {
				return
			}
			select {
			case to <- event:
			default:
				p.Log.Warn("event dropped: its channel is full", "event", event.GetMessageName())
			}
		}
	}
}

// Unsubscribe ends the subscription. Nothing is sent after it has returned.
func (s *subscription) Unsubscribe() error {
	s.cancel()
	<-s.ended
	return nil
}

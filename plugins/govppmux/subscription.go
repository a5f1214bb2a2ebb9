package govppmux

import (
	"context"
	"errors"

	"go.fd.io/govpp/api"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
)

// Subscription says which events of VPP are wanted.
type Subscription struct {
	// Event is a message of the type of the events.
	Event api.Message
	// Want is the request that makes VPP send them (want_..._events); it is
	// sent in every session. Nil if nothing needs to be sent.
	Want api.Message
	// WantReply is a message of the type of the reply to Want.
	WantReply api.Message
	// Coalesce, if not nil, returns the key of an event; of waiting events with
	// the same key only the newest is kept.
	Coalesce func(api.Message) any
	// OnLost, if not nil, is called after events may have been lost: when the
	// next session begins, after Want took effect. It must return soon.
	OnLost func(Session)
}

// subscriber delivers the events of a subscription.
type subscriber struct {
	sub    Subscription
	events chan api.Message
	cancel context.CancelFunc
	done   chan struct{}
}

// Subscribe watches events until ctx ends, the watcher is closed or the plugin
// stops: in the current session and in all that follow. A VPP that does not
// know the event, or refuses Want, sends none; the next one is asked again.
func (p *Plugin) Subscribe(ctx context.Context, sub Subscription) (api.Watcher, error) {
	if sub.Event == nil || (sub.Want == nil) != (sub.WantReply == nil) {
		return nil, errors.New("subscribe to events: expected Event, and Want and WantReply together")
	}
	p.setup()
	ctx, cancel := context.WithCancel(ctx)
	s := &subscriber{sub: sub, events: make(chan api.Message), cancel: cancel, done: make(chan struct{})}
	p.Go(func(life context.Context) {
		stop := context.AfterFunc(life, cancel)
		defer stop()
		s.run(ctx, p)
	})
	return s, nil
}

// Events is the channel of events; it is closed when the watch ends.
func (s *subscriber) Events() <-chan api.Message { return s.events }

// Close ends the watch.
func (s *subscriber) Close() {
	s.cancel()
	<-s.done
}

// run forwards the events of one session after the other.
func (s *subscriber) run(ctx context.Context, p *Plugin) {
	defer close(s.done)
	defer close(s.events)
	defer s.cancel()
	var epoch uint64
	for {
		session, err := p.WaitSession(ctx, epoch)
		if err != nil {
			return
		}
		lost := epoch > 0
		epoch = session.Epoch
		err = s.follow(ctx, session, lost)
		if ctx.Err() == nil && !errors.Is(err, binapi.ErrDisconnected) {
			p.Log.Warn("events of VPP are not available", "event", s.sub.Event.GetMessageName(), "error", err)
		}
	}
}

// follow forwards the events of a session until it ends.
func (s *subscriber) follow(ctx context.Context, session Session, lost bool) error {
	w, err := session.Conn.Watch(ctx, s.sub.Event, binapi.WatchOptions{Coalesce: s.sub.Coalesce})
	if err != nil {
		return err
	}
	defer w.Close()
	if s.sub.Want != nil {
		if err := session.Conn.Call(ctx, s.sub.Want, fresh(s.sub.WantReply)); err != nil {
			return err
		}
	}
	if lost && s.sub.OnLost != nil {
		s.sub.OnLost(session)
	}
	for event := range w.Events() {
		select {
		case s.events <- event:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return w.Err()
}

package bfdplugin

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.fd.io/govpp/api"
	bfdapi "go.fd.io/govpp/binapi/bfd"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
)

// stateWatcher notifies the scheduler of the states of sessions. It reads the states of all
// sessions after each event and each change of the agent: VPP sends no event for a session
// that was created or deleted.
type stateWatcher struct {
	*itemplugin.Registrar
	*item.States[Session]
	// changed has an element if sessions may have changed since they were read.
	changed chan struct{}
}

func newStateWatcher(r *itemplugin.Registrar, states *item.States[Session]) *stateWatcher {
	return &stateWatcher{Registrar: r, States: states, changed: make(chan struct{}, 1)}
}

// refresh requests another read of the states, without waiting for it.
func (w *stateWatcher) refresh() {
	select {
	case w.changed <- struct{}{}:
	default: // one is requested already
	}
}

// follow notifies the scheduler until ctx or the session with VPP ends.
func (w *stateWatcher) follow(ctx context.Context) error {
	s, err := w.VPP.Session()
	if err != nil {
		return err
	}
	watch, err := s.Client.WatchEvent(ctx, (*bfdapi.BfdUDPSessionEvent)(nil))
	if err != nil {
		return fmt.Errorf("watch BFD events: %w", err)
	}
	defer watch.Close()
	want := &bfdapi.WantBfdEvents{EnableDisable: true, PID: uint32(os.Getpid())}
	err = w.VPP.Call(ctx, want, &bfdapi.WantBfdEventsReply{})
	if err != nil && !errors.Is(err, api.INVALID_REGISTRATION) { // follow was called before in this session
		return err
	}
	// Interfaces have names when the values are synchronized with the session.
	if err := w.Scheduler.WaitForTransactions(ctx); err != nil {
		return err
	}
	if err := w.Report(ctx, w.Scheduler, true); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.changed:
		case _, ok := <-watch.Events():
			if !ok {
				return fmt.Errorf("BFD events: %w", binapi.ErrDisconnected)
			}
			drain(watch.Events())
		}
		if err := w.Report(ctx, w.Scheduler, false); err != nil {
			return err
		}
	}
}

// drain drops the events that the same read covers.
func drain(events <-chan api.Message) {
	for {
		select {
		case _, ok := <-events:
			if !ok {
				return
			}
		default:
			return
		}
	}
}

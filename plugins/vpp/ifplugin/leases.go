package ifplugin

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// leaseWatcher notifies the scheduler of leases of DHCP clients, in two goroutines
// per session. VPP sends events to who started the client, in that session;
// of the rest, and of leases that expire, it reports nothing, so all leases are
// looked at from time to time too.
type leaseWatcher struct {
	calls     *vppcalls.Calls
	scheduler kvs.Notifier
	index     ifaceidx.Index
	log       logging.Logger
	interval  time.Duration
	// kick asks for a look at the leases.
	kick chan struct{}

	// told is what the scheduler last received, by interface; used by the
	// goroutine only.
	told map[string]*interfaces.DHCPLease

	cancel context.CancelFunc
	done   chan struct{} // closed when the last goroutine has ended
}

// look asks for a look at the leases, without waiting for it.
func (w *leaseWatcher) look() {
	select {
	case w.kick <- struct{}{}:
	default: // another process has asked already
	}
}

// start follows the leases in the current session.
func (w *leaseWatcher) start(ctx context.Context, run func(func(context.Context))) {
	ctx, w.cancel = context.WithCancel(ctx)
	before, done := w.done, make(chan struct{})
	w.done = done
	run(func(context.Context) {
		defer close(done)
		if before != nil {
			<-before
		}
		clear(w.told)
		w.follow(ctx)
	})
	run(func(context.Context) {
		err := w.calls.WatchLeases(ctx, w.look)
		if err != nil && ctx.Err() == nil && !errors.Is(err, binapi.ErrDisconnected) {
			w.log.Warn("DHCP leases are followed without events", "error", err)
		}
	})
}

func (w *leaseWatcher) follow(ctx context.Context) {
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	w.look()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.kick:
		case <-tick.C:
		}
		w.tell(ctx)
	}
}

// stop asks the goroutine to end; the next one waits for it.
func (w *leaseWatcher) stop() {
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
}

// tell passes on what is news. The transaction that created the interfaces may
// still be running, so their names are looked up when that has ended.
func (w *leaseWatcher) tell(ctx context.Context) {
	all, err := w.calls.DumpDHCPClients(ctx)
	if err != nil || len(all) == 0 && len(w.told) == 0 {
		if err != nil {
			w.log.Debug("DHCP leases were not read", "error", err)
		}
		return
	}
	if w.scheduler.WaitForTransactions(ctx) != nil { // the session or the agent ends
		return
	}
	now := map[string]*interfaces.DHCPLease{}
	for idx, l := range all {
		if name, _, ok := w.index.LookupBySwIfIndex(idx); ok && l != nil {
			now[name] = descriptor.LeaseOf(name, l)
		}
	}
	var changes []kvs.KVWithMetadata
	for name := range w.told {
		if now[name] == nil {
			delete(w.told, name)
			changes = append(changes, descriptor.LeaseChange(name, nil))
		}
	}
	for name, lease := range now {
		if !proto.Equal(w.told[name], lease) {
			w.told[name] = lease
			changes = append(changes, descriptor.LeaseChange(name, lease))
		}
	}
	if len(changes) == 0 {
		return
	}
	if err := w.scheduler.PushSBNotification(changes...); err != nil {
		w.log.Debug("DHCP leases were not told", "error", err)
	}
}

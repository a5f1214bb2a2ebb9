package ifplugin

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// notified records the calls to the scheduler.
type notified struct {
	kvs.Notifier

	lost []string
}

func (*notified) PushSBNotification(...kvs.KVWithMetadata) error { return nil }

func (*notified) WaitForTransactions(context.Context) error { return nil }

func (n *notified) ReportLost(keys ...string) error {
	n.lost = append(n.lost, keys...)
	return nil
}

// An interface that VPP had lost before it began to send events is reported: no event will
// tell.
func TestLostBeforeEvents(t *testing.T) {
	t.Parallel()
	sim, socket := vppsim.New(vppsim.Options{}), filepath.Join(t.TempDir(), "api.sock")
	if err := sim.ListenUnix(socket); err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	conn, err := binapi.Dial(t.Context(), binapi.Options{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var holder session.Holder
	holder.Set(session.Session{Epoch: 1, Client: conn})
	calls := vppcalls.New(session.New(&holder))

	store := idxmap.New[*ifaceidx.IfMeta]("vpp-interface")
	index, err := ifaceidx.New(store)
	if err != nil {
		t.Fatal(err)
	}
	there, err := calls.CreateLoopback(t.Context(), vppcalls.MAC{2, 0, 0, 0, 0, 1})
	if err == nil {
		err = calls.SetTag(t.Context(), there, "there")
	}
	for name, swIfIndex := range map[string]uint32{"there": there, "gone": there + 1} {
		if err == nil {
			err = store.Put(name, &ifaceidx.IfMeta{SwIfIndex: swIfIndex})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	scheduler := &notified{}
	w := linkWatcher{
		calls: calls, scheduler: scheduler, index: index, log: logging.Nop(), states: newStates(time.Now),
		told: map[uint32]link{}, devices: map[uint32]string{}, changes: newChangedSet(),
	}
	w.tellAll(t.Context())
	if want := []string{model.InterfaceModel.KeyFor("gone")}; !slices.Equal(scheduler.lost, want) {
		t.Errorf("reported as lost: %q, expected %q", scheduler.lost, want)
	}
}

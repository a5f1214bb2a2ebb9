package item

import (
	"context"
	"errors"

	"go.fd.io/govpp/api"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// restoreLayer2 deletes the entries of an interface that has left layer 2, and adds them again: VPP
// turns a feature on with the first entry.
func (d *entries[V, E, K]) restoreLayer2(ctx context.Context, swIfIndex uint32) error {
	if !d.used.Load() {
		return nil
	}
	do, err := d.Operation.On(d.vpp)
	if err != nil {
		return IgnoreUnsupported(err)
	}
	d.layer2.Lock()
	defer d.layer2.Unlock()
	all, err := d.dump(ctx)
	if err != nil {
		return err
	}
	for _, add := range []bool{false, true} {
		var requests, replies []api.Message
		for _, e := range all {
			if of, is := d.Layer2(e); is && of == swIfIndex {
				request, reply := do.Change(e, add)
				requests, replies = append(requests, request), append(replies, reply)
			}
		}
		for _, failed := range d.vpp.CallAll(ctx, requests, replies) {
			if failed != nil && !session.Gone(failed, d.Gone...) {
				err = errors.Join(err, failed)
			}
		}
	}
	return err
}

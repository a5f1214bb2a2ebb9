package session

import (
	"context"
	"errors"
)

// VPP turns features of layer 2 off when an interface leaves its bridge domain or cross-connect, and
// does not turn them on when it is put into another one (set_int_l2_mode in src/vnet/l2/l2_input.c):
// access lists, mirroring, QoS records, classifier tables. It lists them all the same. Who sets such a
// feature registers a function that sets it again.

// OnLeaveLayer2 registers a function that is called after an interface has left layer 2, with its
// index. It is called before the first session.
func (v *VPP) OnLeaveLayer2(restore func(ctx context.Context, swIfIndex uint32) error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.leaving = append(v.leaving, restore)
}

// LeftLayer2 calls the registered functions.
func (v *VPP) LeftLayer2(ctx context.Context, swIfIndex uint32) error {
	v.mu.Lock()
	leaving := v.leaving
	v.mu.Unlock()
	var errs []error
	for _, restore := range leaving {
		errs = append(errs, restore(ctx, swIfIndex))
	}
	return errors.Join(errs...)
}

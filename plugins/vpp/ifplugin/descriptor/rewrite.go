package descriptor

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// VPP can rewrite the VLAN tags of all Ethernet interfaces, the agent only the tags of
// sub-interfaces. VPP keeps a rewrite by index after the interface is deleted.

// addRewrite marks an interface, other than a sub-interface, whose VLAN tags are rewritten.
func addRewrite(found vppcalls.Details, i *interfaces.Interface) {
	if !found.SubInterface {
		kvs.AddUnmodeled(i, item.Unmodeled(vtr(found.Rewrite), vtr{})...)
	}
}

// vtr has the names that VPP's API gives to the fields of vppcalls.TagRewrite.
type vtr struct {
	Op    uint32 `binapi:"u32,name=vtr_op"`
	Dot1q bool   `binapi:"u32,name=vtr_push_dot1q"`
	Tag1  uint32 `binapi:"u32,name=vtr_tag1"`
	Tag2  uint32 `binapi:"u32,name=vtr_tag2"`
}

// endRewrite ends a rewrite on a new interface whose index had one at the last reading.
func (d *interfaceDescriptor) endRewrite(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	_, rewritten := d.rewritten.LoadAndDelete(m.SwIfIndex)
	if !rewritten || i.GetType() == interfaces.Interface_SUB_INTERFACE { // sets its own
		return nil
	}
	err := d.vpp.SetTagRewrite(ctx, m.SwIfIndex, vppcalls.TagRewrite{})
	if err != nil && !errors.Is(err, api.INVALID_INTERFACE) { // not Ethernet: it has none
		return fmt.Errorf("end the rewrite of VLAN tags: %w", err)
	}
	return nil
}

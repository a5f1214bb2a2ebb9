package descriptor

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// The state of an interface follows from its configuration, not from earlier ones. A setting that is removed from the configuration gets back its initial value: the
// default of its type or, of devices, what it was when the agent first saw them. Tunnels that
// VPP hides instead of deleting them keep theirs for the next one, which gets the default. See
// docs/design/reused-indices.md.

// etherMTU is the MTU of a new Ethernet interface, and of most tunnels.
const etherMTU = 9000

// initialise resets what VPP kept from earlier interfaces for a new one, and notes its
// initial state.
func (d *interfaceDescriptor) initialise(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta, kind linkKind) error {
	m.ChosenMAC, m.Initial = i.GetPhysAddress(), &ifaceidx.Initial{MTU: initialMTU(kind, i)}
	if m.Initial.MTU == ifaceidx.UnknownMTU {
		found, err := d.vpp.DumpInterface(ctx, m.SwIfIndex)
		if found != nil {
			m.Initial = &ifaceidx.Initial{MTU: found.OwnMTU, MAC: found.MAC}
			d.keepInitial(i.GetName(), &keptInitial{Device: found.Name, MTU: found.OwnMTU, MAC: found.MAC.String()})
		}
		return err
	}
	if kind.traits().hidden && m.Initial.MTU == 0 && i.GetMtu() == 0 {
		return d.vpp.SetPacketMTU(ctx, m.SwIfIndex, 0)
	}
	return nil
}

// initialOf returns the initial state of an interface that exists, nil if it is not known.
func (d *interfaceDescriptor) initialOf(i *interfaces.Interface) *ifaceidx.Initial {
	if m := d.metaOf(i); m != nil {
		return m.Initial
	}
	return nil
}

func (d *interfaceDescriptor) metaOf(i *interfaces.Interface) *ifaceidx.IfMeta {
	if d.ifs == nil {
		return nil
	}
	if m, ok := d.ifs.LookupByName(i.GetName()); ok && m.Type == i.GetType() {
		return m
	}
	return nil
}

// effectiveMTU is the MTU that an interface of the configuration has; false if that is not
// known.
func (d *interfaceDescriptor) effectiveMTU(i *interfaces.Interface) (mtu uint32, known bool) {
	if mtu := d.wantedMTU(i); mtu != 0 {
		return mtu, true
	}
	if initial := d.initialOf(i); initial != nil && initial.MTU != ifaceidx.UnknownMTU {
		return initial.MTU, true
	}
	if kind := d.kindOf(i); kind != nil {
		mtu = initialMTU(kind, i)
		return mtu, mtu != ifaceidx.UnknownMTU
	}
	return 0, false
}

// initialMTU is the MTU that VPP gives to an interface of a kind, or UnknownMTU.
func initialMTU(kind linkKind, i *interfaces.Interface) uint32 {
	if of := kind.traits().initialMTU; of != nil {
		return of(i)
	}
	return etherMTU
}

func (d *interfaceDescriptor) sameMTU(old, i *interfaces.Interface) bool {
	a, knownA := d.effectiveMTU(old)
	b, knownB := d.effectiveMTU(i)
	if a == b && d.wantedMTU(old) != 0 && d.wantedMTU(i) == 0 {
		return !d.changedHostMTU(i)
	}
	return a == b || !knownA || !knownB
}

// updateMTU sets the MTU that an interface of the configuration has.
func (d *interfaceDescriptor) updateMTU(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	mtu, _ := d.effectiveMTU(i)
	return d.withHostMTU(ctx, i, m, func() error { return d.changeMTU(ctx, i, m, mtu) })
}

// changeMTU sets the MTU of an interface. VPP changes the MTUs of its sub-interfaces too, so
// changeMTU restores them.
func (d *interfaceDescriptor) changeMTU(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta, mtu uint32) error {
	before, err := d.vpp.DumpInterfaces(ctx)
	if err != nil {
		return err
	}
	err = d.setMTU(ctx, i, m, mtu)
	if d.wantedMTU(i) == 0 && errors.Is(err, api.SYSCALL_ERROR_1) {
		err = d.vpp.SetPacketMTU(ctx, m.SwIfIndex, mtu) // the host interface has a smaller limit
	}
	errs := []error{err}
	for _, s := range before {
		if !s.SubInterface || s.Parent != m.SwIfIndex || d.kindOf(i).traits().packetMTU {
			continue
		}
		if err := d.vpp.SetPacketMTU(ctx, s.SwIfIndex, s.OwnMTU); err != nil && !session.Gone(err) {
			errs = append(errs, fmt.Errorf("set MTU of the sub-interface %q: %w", s.Tag, err))
		}
	}
	return errors.Join(errs...)
}

// sameMAC reports that an interface needs no other MAC address. One that the configuration
// does not mention may be any, except an earlier one of the configuration.
func (d *interfaceDescriptor) sameMAC(old, i *interfaces.Interface) bool {
	if i.GetPhysAddress() != "" {
		return ipconv.SameMAC(old.GetPhysAddress(), i.GetPhysAddress())
	}
	m := d.metaOf(i)
	if old.GetPhysAddress() == "" || m == nil || !ipconv.SameMAC(old.GetPhysAddress(), m.ChosenMAC) {
		return true
	}
	_, known := d.initialMAC(i)
	return !known
}

// initialMAC is the MAC address of an interface whose configuration has none; false if only
// VPP knows it.
func (d *interfaceDescriptor) initialMAC(i *interfaces.Interface) (mac vppcalls.MAC, known bool) {
	initial := d.initialOf(i)
	switch {
	case i.GetType() != interfaces.Interface_SOFTWARE_LOOPBACK && initial != nil && initial.MAC != (vppcalls.MAC{}):
		return initial.MAC, true
	case d.kindOf(i) == nil || initialMTU(d.kindOf(i), i) == ifaceidx.UnknownMTU:
		return mac, false // a device, which has its own
	}
	return madeUpMAC(d.seed, i.GetName()), true
}

// giveBack restores the initial state of a device that the agent does not use any longer.
func (d *interfaceDescriptor) giveBack(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	if m.Initial == nil {
		return nil
	}
	var errs []error
	if d.wantedMTU(i) != 0 && m.Initial.MTU != ifaceidx.UnknownMTU {
		errs = append(errs, d.changeMTU(ctx, i, m, m.Initial.MTU))
	}
	if i.GetPhysAddress() != "" && m.Initial.MAC != (vppcalls.MAC{}) {
		errs = append(errs, d.vpp.SetMAC(ctx, m.SwIfIndex, m.Initial.MAC))
	}
	return errors.Join(errs...)
}

func (d *interfaceDescriptor) updateMAC(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	mac, _ := d.initialMAC(i)
	if want, err := wantedMAC(i); err != nil {
		return err
	} else if want != nil {
		mac = *want
	}
	if err := d.vpp.SetMAC(ctx, m.SwIfIndex, mac); err != nil {
		return fmt.Errorf("set MAC address %s: %w", mac, err)
	}
	return nil
}

// addInitial notes what is known of the initial state of an interface that was found, and whether its MAC address is a
// default.
func (r *reading) addInitial(found vppcalls.Details, i *interfaces.Interface, m *ifaceidx.IfMeta) {
	r.findInitial(found, i, m)
	if m.ChosenMAC == "" && i.GetPhysAddress() != "" {
		kvs.AddDefaulted(i, macField)
	}
}

// findInitial sets the initial state in the metadata of an interface. Without earlier metadata, what the configuration
// of found does not mention is as VPP chose it.
func (r *reading) findInitial(found vppcalls.Details, i *interfaces.Interface, m *ifaceidx.IfMeta) {
	last := configuredMAC(r.wanted[i.GetName()])
	if known := r.metas[i.GetName()]; known != nil && known.SwIfIndex == m.SwIfIndex && known.Type == i.GetType() && known.Initial != nil {
		m.Initial, m.ChosenMAC = known.Initial, known.ChosenMAC
		return
	}
	initial := &ifaceidx.Initial{MTU: initialMTU(r.d.kindOf(i), i)}
	if kept, ok := r.keptInitial(i.GetName()); ok && kept.Device == found.Name && initial.MTU == ifaceidx.UnknownMTU {
		m.Initial, m.ChosenMAC = kept.initial(), last
		return
	}
	if initial.MTU == ifaceidx.UnknownMTU && r.wanted[i.GetName()].GetMtu() == 0 {
		initial.MTU = found.OwnMTU
	}
	if last == "" {
		initial.MAC = found.MAC
	} else {
		m.ChosenMAC = last
	}
	m.Initial = initial
}

// macField is the field of the MAC address, which VPP chooses if the configuration does not.
const macField = "phys_address"

// configuredMAC returns the MAC address that a configuration chose for an interface; empty if there was none.
func configuredMAC(i *interfaces.Interface) string {
	if i == nil || kvs.IsDefaulted(i, macField) {
		return ""
	}
	return i.GetPhysAddress()
}

// keptInitial returns what an earlier run of the agent kept.
func (r *reading) keptInitial(name string) (k keptInitial, ok bool) {
	if r.kept == nil {
		r.kept = r.d.keptInitials()
	}
	k, ok = r.kept[name]
	return k, ok
}

package descriptor

import (
	"context"
	"encoding/binary"
	"errors"
	"net"

	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
)

// The state of a link follows from its value, not from earlier ones. A setting that is removed
// from the value becomes what it was before the agent changed it, see Former, and so do the
// settings of a link that the agent does not delete with the value.

// property is a setting of a link that the agent changes, as Former has it.
type property string

const (
	propertyUp  property = "up"
	propertyMTU property = "mtu"
	propertyMAC property = "mac"
)

// of returns the key under which Former has the property of an interface.
func (p property) of(name string) string { return ifmodel.SysctlKey.Key(string(p), name) }

// id identifies the link in Former.
func (p *place) id() linkID { return linkID{p.Namespace(), p.link.Index} }

// remember records what a property is that the agent is about to change. If the agent has changed it
// before, the first record counts, unless the link is fresh.
func (d Deps) remember(p *place, name string, what property, now, want int, fresh bool) {
	if _, known := d.Former.of(what.of(name), p.id()); fresh || !known {
		d.Former.remember(what.of(name), p.id(), string(what), now, want)
	}
}

// was returns what a property was before the agent changed it; false if it did not.
func (d Deps) was(p *place, name string, what property) (int, bool) {
	return d.Former.of(what.of(name), p.id())
}

// forget drops what is known of the former properties of an interface.
func (d Deps) forget(name string) {
	for _, what := range []property{propertyUp, propertyMTU, propertyMAC} {
		d.Former.forget(what.of(name))
	}
}

// giveBack makes a link what it was before the agent changed it.
func (d Deps) giveBack(ctx context.Context, p *place, name string) error {
	var errs []error
	if mtu, known := d.was(p, name, propertyMTU); known && mtu != p.link.MTU {
		errs = append(errs, p.SetMTU(ctx, p.link.Index, mtu))
	}
	if mac, known := d.was(p, name, propertyMAC); known && mac != macNumber(p.link.MAC) {
		errs = append(errs, p.whileDown(ctx, func() error { return p.SetMAC(ctx, p.link.Index, macOf(mac)) }))
	}
	if up, known := d.was(p, name, propertyUp); known && (up != 0) != p.link.Up {
		errs = append(errs, p.SetUp(ctx, p.link.Index, up != 0))
	}
	return ignoreGone(errors.Join(errs...))
}

// macNumber returns a MAC address as a number; 0 if there is none.
func macNumber(mac net.HardwareAddr) int {
	if len(mac) != 6 {
		return 0
	}
	return int(binary.BigEndian.Uint64(append([]byte{0, 0}, mac...)))
}

// macOf is the inverse of macNumber.
func macOf(number int) net.HardwareAddr {
	return binary.BigEndian.AppendUint64(nil, uint64(number))[2:]
}

package vnet

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/interface_types"
)

const (
	// defaultMTU is the L3 MTU of a new Ethernet interface.
	defaultMTU = 9000
	// frameOverhead is an Ethernet header and two VLAN tags.
	frameOverhead = 14 + 2*4
)

// Positions in the MTU array of sw_interface_set_mtu and sw_interface_details.
const (
	mtuL3 = iota
	mtuIP4
	mtuIP6
	mtuMPLS
	mtuKinds
)

// swInterface is a software interface: a whole device or a sub-interface of one.
// A sub-interface shares the hardware half of its parent.
type swInterface struct {
	index   uint32
	hw      *hwInterface
	isSub   bool
	sub     subif
	adminUp bool
	mtu     [mtuKinds]uint32
	tag     string
	l2      l2Config
	hidden  bool // of a deleted tunnel, see parked

	addressFamilies
}

// hwInterface is the hardware half of an interface.
type hwInterface struct {
	name     string
	device   string // device class, "Loopback", "virtio", ...
	index    uint32 // hw_if_index
	swIndex  uint32 // the interface of the whole device
	ethernet bool   // has a MAC address; local0 and most tunnels have none
	mac      ethernet_types.MacAddress
	linkUp   bool
	speed    uint32 // kbit/s
	duplex   interface_types.LinkDuplex
	maxFrame uint32 // bytes, headers included
	overhead uint32 // bytes of headers; 0 means Ethernet headers
	// anyFrame says that the driver can change the maximum frame size.
	anyFrame bool
	subs     map[uint32]uint32

	rxQueues []rxQueue
	adaptive bool // the device can switch between polling and interrupts by itself

	// adminChanged notifies the device that it goes up or down.
	adminChanged func(up bool)
	// instance is the number that the device class gave to the interface.
	instance uint32
}

// rxQueue is a receive queue; all of them are polled by the main thread.
type rxQueue struct {
	id   uint32
	mode interface_types.RxMode
}

// name returns what VPP calls the interface.
func (i *swInterface) name() string {
	if i.isSub {
		return i.hw.name + "." + strconv.FormatUint(uint64(i.sub.id), 10)
	}
	return i.hw.name
}

// interfaces is the pool of sw_if_indexes.
type interfaces struct {
	pool[swInterface]
	macSeed uint32
}

// byIndex returns an interface of the API, nil for an index not in use.
func (n *VNet) byIndex(index ifIndex) *swInterface {
	if i := n.ifs.at(uint32(index)); i != nil && !i.hidden {
		return i
	}
	return nil
}

// linkMTU is the largest payload of a frame, as far as 16 bits go: VPP does not
// mind that the headers of some tunnels are larger than their frames.
func (hw *hwInterface) linkMTU() uint16 {
	switch {
	case hw.overhead != 0:
		return uint16(hw.maxFrame - hw.overhead)
	case hw.ethernet:
		return uint16(hw.maxFrame - frameOverhead)
	}
	return 0
}

// createLocal0 makes the interface that every VPP has, sw_if_index 0.
func (n *VNet) createLocal0() {
	n.createHardware(&hwInterface{name: "local0", device: "local"})
}

// createHardware makes the two halves of a new device, down.
func (n *VNet) createHardware(hw *hwInterface) *swInterface {
	i := &swInterface{hw: hw}
	i.index = n.ifs.add(i)
	hw.swIndex, hw.index = i.index, n.hws.add(hw)
	hw.subs = make(map[uint32]uint32)
	n.created(i)
	if hw.ethernet {
		i.mtu[mtuL3] = defaultMTU
		hw.maxFrame = defaultMTU + frameOverhead
	}
	return i
}

// created lets the features prepare for a new interface.
func (n *VNet) created(i *swInterface) {
	n.signal(i.index, ifAdded)
}

// deleteHardware removes a device with all of its sub-interfaces.
func (n *VNet) deleteHardware(hw *hwInterface) {
	n.setLink(hw, false)
	for _, id := range slices.Sorted(maps.Keys(hw.subs)) {
		n.deleteSoftware(n.ifs.at(hw.subs[id]))
	}
	clear(hw.subs)
	n.deleteSoftware(n.ifs.at(hw.swIndex))
	n.hws.remove(hw.index)
}

// deleteSoftware removes one interface and what the features keep for it. What
// they do not clean up stays behind, as in VPP.
func (n *VNet) deleteSoftware(i *swInterface) {
	i.tag = ""
	if i.adminUp {
		n.setAdmin(i, false)
	}
	for _, f := range n.hooks.removers {
		f.interfaceRemoved(i)
	}
	n.signal(i.index, ifDeleted)
	n.addressesGone(i)
	n.flushDeleted(i.index)
	n.l2Gone(i)
	n.fibs.InterfaceDeleted(i.index)
	n.ifs.remove(i.index)
}

// setAdmin implements sw_interface_set_flags. A sub-interface can only go up under
// a parent that is up.
func (n *VNet) setAdmin(i *swInterface, up bool) retval {
	if i.isSub && up && !n.ifs.at(i.hw.swIndex).adminUp {
		return api.UNSPECIFIED
	}
	if i.adminUp == up {
		return ok
	}
	i.adminUp = up
	n.signal(i.index, adminEvent(up))
	n.addressesAdmin(i, up)
	if !up {
		n.flushDynamic(i.index)
	}
	if !up && i.l2.mode == modeBridge {
		i.l2.seq++
	}
	if i.isSub {
		return ok
	}
	if i.hw.adminChanged != nil {
		i.hw.adminChanged(up)
	}
	if !up {
		n.setLink(i.hw, false)
	}
	return ok
}

// setMAC changes the MAC address of a device; a BVI's entry in the L2 FIB follows.
func (n *VNet) setMAC(i *swInterface, mac ethernet_types.MacAddress) {
	if i.hw.device == loopbackDevice && i.l2.mode == modeBridge && i.l2.bvi {
		n.l2fib.delete(macKey{i.l2.bd, i.hw.mac}, i.index)
		n.l2fib.entries[macKey{i.l2.bd, mac}] = macEntry{out: i.index, static: true, bvi: true}
	}
	i.hw.mac = mac
}

// setLink changes the link state of a device.
func (n *VNet) setLink(hw *hwInterface, up bool) {
	if hw.linkUp == up {
		return
	}
	hw.linkUp = up
	n.signal(hw.swIndex, linkEvent(up))
}

// linkFollowsAdmin makes the link of a device come and go with its admin state.
func (n *VNet) linkFollowsAdmin(hw *hwInterface) {
	hw.adminChanged = func(up bool) { n.setLink(hw, up) }
}

// setMaxFrame implements hw_interface_set_mtu: the L3 MTU of the device and of all
// of its sub-interfaces follows. Loopbacks cannot change theirs.
func (n *VNet) setMaxFrame(hw *hwInterface, mtu uint32) retval {
	if hw.maxFrame == mtu+frameOverhead {
		return ok
	}
	if !hw.anyFrame {
		return api.UNSUPPORTED
	}
	if host, is := strings.CutPrefix(hw.name, hostPrefix); is && hw.device == afPacketDevice && n.cfg.HostMTU != nil &&
		!n.cfg.HostMTU(host, mtu+2*frameOverhead) { // VPP adds the overhead twice
		return api.SYSCALL_ERROR_1
	}
	hw.maxFrame = mtu + frameOverhead
	n.ifs.at(hw.swIndex).mtu[mtuL3] = mtu
	for _, sub := range hw.subs {
		n.ifs.at(sub).mtu[mtuL3] = mtu
	}
	return ok
}

// macOrRandom returns the MAC address asked for, or one of VPP's random ones.
func (n *VNet) macOrRandom(mac ethernet_types.MacAddress, random bool) ethernet_types.MacAddress {
	if random {
		return n.randomMAC()
	}
	return mac
}

// randomMAC makes up an address of the form VPP makes up, the same sequence after
// each start.
func (n *VNet) randomMAC() ethernet_types.MacAddress {
	n.ifs.macSeed = n.ifs.macSeed*1664525 + 1013904223
	s := n.ifs.macSeed
	return ethernet_types.MacAddress{2, 0xfe, byte(s), byte(s >> 8), byte(s >> 16), byte(s >> 24)}
}

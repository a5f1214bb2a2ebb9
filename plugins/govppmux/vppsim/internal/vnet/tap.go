package vnet

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/tapv2"
)

const (
	// tapDevice is the device class of TAPs up to VPP 26.01, tapDeviceNew since.
	tapDevice    = "virtio"
	tapDeviceNew = "tap"
	// maxTap is the largest ID of a TAP.
	maxTap = 8192
	// defaultRing and maxRing are sizes of a queue, in descriptors.
	defaultRing = 256
	maxRing     = 32768
)

// taps are the TAP and TUN interfaces.
type taps struct {
	*VNet
	pool[tap]
	ids instances
}

// tap is a TAP or TUN interface.
type tap struct {
	swIndex    uint32
	id         uint32
	config     tapv2.TapCreateV3 // as given, with what VPP fills in
	removeHost func()            // removes the host side; nil: it has none here
}

func newTaps(n *VNet) feature {
	n.taps = &taps{VNet: n}
	return n.taps
}

func (ts *taps) register(server *wire.Server) {
	handleCreate[tapv2.TapCreateV3Reply](server, ts.createTap)
	handleCreate[tapv2.TapCreateV2Reply](server, func(req *tapv2.TapCreateV2) (ifIndex, retval) {
		return ts.createTap(tapFromV2(req))
	})
	handle[tapv2.TapDeleteV2Reply](server, ts.deleteTap)
	wire.HandleDump(server, ts.tapDump)
}

// tapFromV2 is the newer request with the same meaning.
func tapFromV2(v2 *tapv2.TapCreateV2) *tapv2.TapCreateV3 {
	return &tapv2.TapCreateV3{
		ID: v2.ID, UseRandomMac: v2.UseRandomMac, MacAddress: v2.MacAddress,
		NumRxQueues: uint16(v2.NumRxQueues), NumTxQueues: 1,
		TxRingSz: v2.TxRingSz, RxRingSz: v2.RxRingSz,
		HostMtuSet: v2.HostMtuSet, HostMtuSize: v2.HostMtuSize,
		HostMacAddrSet: v2.HostMacAddrSet, HostMacAddr: v2.HostMacAddr,
		HostIP4PrefixSet: v2.HostIP4PrefixSet, HostIP4Prefix: v2.HostIP4Prefix,
		HostIP6PrefixSet: v2.HostIP6PrefixSet, HostIP6Prefix: v2.HostIP6Prefix,
		HostIP4GwSet: v2.HostIP4GwSet, HostIP4Gw: v2.HostIP4Gw,
		HostIP6GwSet: v2.HostIP6GwSet, HostIP6Gw: v2.HostIP6Gw,
		TapFlags:         v2.TapFlags,
		HostNamespaceSet: v2.HostNamespaceSet, HostNamespace: v2.HostNamespace,
		HostIfNameSet: v2.HostIfNameSet, HostIfName: v2.HostIfName,
		HostBridgeSet: v2.HostBridgeSet, HostBridge: v2.HostBridge,
		Tag: v2.Tag,
	}
}

// createTap makes tap<id> (tun<id> in TUN mode), link up, with the lowest free ID
// if none is asked for.
func (ts *taps) createTap(req *tapv2.TapCreateV3) (ifIndex, retval) {
	refused := noInterface
	if ts.ids.inUse(req.ID) {
		return refused, api.INVALID_INTERFACE
	}
	if rv := checkTap(req); rv != ok {
		return refused, rv
	}
	if req.ID == none {
		req.ID = ts.ids.take()
	} else if req.ID > maxTap || !ts.ids.claim(req.ID) {
		return refused, api.UNSPECIFIED
	}
	hw := ts.tapHardware(req)
	removeHost, err := ts.hostTAP(req)
	if err != nil {
		ts.ids.release(req.ID)
		return refused, api.SYSCALL_ERROR_3
	}
	i := ts.createHardware(hw)
	i.hw.instance = ts.add(&tap{swIndex: i.index, id: req.ID, config: *req, removeHost: removeHost})
	ts.setLink(i.hw, true)
	if req.Tag != "" {
		i.tag = req.Tag
	}
	return ifIndex(i.index), ok
}

// hostTAP creates the host side of a TAP where the simulator is given a host.
func (ts *taps) hostTAP(req *tapv2.TapCreateV3) (remove func(), err error) {
	if ts.cfg.HostTAP == nil || req.HostNamespaceSet {
		return nil, nil
	}
	return ts.cfg.HostTAP(req.HostIfName)
}

// reset removes all host sides, as the kernel does when VPP ends.
func (ts *taps) reset() {
	for _, t := range ts.all() {
		if t.removeHost != nil {
			t.removeHost()
		}
	}
	ts.pool, ts.ids = pool[tap]{}, instances{}
}

// checkTap refuses what VPP refuses and fills in what VPP chooses.
func checkTap(req *tapv2.TapCreateV3) retval {
	for _, size := range []*uint16{&req.RxRingSz, &req.TxRingSz} {
		if *size&(*size-1) != 0 || *size > maxRing {
			return api.INIT_FAILED
		}
		if *size == 0 {
			*size = defaultRing
		}
	}
	if req.TapFlags&tapv2.TAP_API_FLAG_ATTACH != 0 && !req.HostIfNameSet {
		return api.SYSCALL_ERROR_3
	}
	return ok
}

func (ts *taps) tapHardware(req *tapv2.TapCreateV3) *hwInterface {
	if !req.HostIfNameSet {
		req.HostIfName = fmt.Sprintf("tap%d", req.ID)
	}
	if !req.HostMtuSet {
		req.HostMtuSize = 0
	}
	if !req.HostIP4PrefixSet {
		req.HostIP4Prefix.Len = 0
	}
	if !req.HostIP6PrefixSet {
		req.HostIP6Prefix.Len = 0
	}
	hw := &hwInterface{
		name: fmt.Sprintf("tap%d", req.ID), device: ts.tapDevice(), anyFrame: true, adaptive: true,
		rxQueues: makeQueues(req.NumRxQueues, interface_types.RX_MODE_API_POLLING),
	}
	ts.linkFollowsAdmin(hw)
	if req.TapFlags&tapv2.TAP_API_FLAG_TUN != 0 {
		hw.name = fmt.Sprintf("tun%d", req.ID)
		return hw
	}
	hw.ethernet, hw.mac = true, req.MacAddress
	if req.UseRandomMac {
		hw.mac = ts.randomMAC()
	}
	if !req.HostMacAddrSet || req.HostMacAddr == (ethernet_types.MacAddress{}) {
		req.HostMacAddr = ts.randomMAC()
	}
	return hw
}

// tapDevice returns the device class of the simulated release: "25.10-simulated".
func (ts *taps) tapDevice() string {
	if ts.before("26.02") {
		return tapDevice
	}
	return tapDeviceNew
}

func (ts *taps) deleteTap(req *tapv2.TapDeleteV2) retval {
	i := ts.byIndex(req.SwIfIndex)
	if i == nil || i.hw.device != ts.tapDevice() {
		return api.INVALID_SW_IF_INDEX
	}
	t := ts.at(i.hw.instance)
	ts.deleteHardware(i.hw)
	if t.removeHost != nil {
		t.removeHost()
	}
	ts.ids.release(t.id)
	ts.remove(i.hw.instance)
	return ok
}

func (ts *taps) tapDump(c *wire.Call, req *tapv2.SwInterfaceTapV2Dump) {
	for _, t := range ts.all() {
		if !selects(req.SwIfIndex, t.swIndex) {
			continue
		}
		d := &tapv2.SwInterfaceTapV2Details{
			SwIfIndex: t.swIndex, ID: t.id,
			TxRingSz: t.config.TxRingSz, RxRingSz: t.config.RxRingSz,
			HostMtuSize: t.config.HostMtuSize, HostMacAddr: t.config.HostMacAddr,
			TapFlags: t.config.TapFlags, DevName: ts.ifs.at(t.swIndex).hw.name,
			HostIfName: t.config.HostIfName,
		}
		if t.config.HostIP4Prefix.Len > 0 {
			d.HostIP4Prefix = t.config.HostIP4Prefix
		}
		if t.config.HostIP6Prefix.Len > 0 {
			d.HostIP6Prefix = t.config.HostIP6Prefix
		}
		if t.config.HostNamespaceSet {
			d.HostNamespace = t.config.HostNamespace
		}
		if t.config.HostBridgeSet {
			d.HostBridge = t.config.HostBridge
		}
		c.Send(d)
	}
}

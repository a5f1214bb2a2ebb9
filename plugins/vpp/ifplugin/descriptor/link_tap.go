package descriptor

import (
	"cmp"
	"fmt"
	"hash/fnv"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/tapv2"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

const (
	// defaultRingSize is the number of descriptors of a ring.
	defaultRingSize = 256
	// maxRingSize is the largest ring that virtio has.
	maxRingSize = 32768
	// maxHostName is the longest name of a Linux interface, in bytes.
	maxHostName = 15
)

// microserviceKeyPrefix is followed by the label of a container; such keys
// come from the watcher of containers.
const microserviceKeyPrefix = "linux/microservice/"

type tapParams struct {
	tapv2.TapCreateV3
	// microservice that the Linux side is moved to. VPP does not know about containers.
	microservice string
}

var dumpTaps = dumpOf[*tapv2.SwInterfaceTapV2Dump](func(d *tapv2.SwInterfaceTapV2Details) (ifIndex, tapParams) {
	return ifIndex(d.SwIfIndex), tapParams{TapCreateV3: session.SameFields[tapv2.TapCreateV3](d)}
})

// A TAP is a pair of a VPP interface and a Linux interface. VPP makes both; the
// Linux side appears in the namespace of VPP, under a name of up to 15 bytes.
// The tag is set by the same message, so a TAP without tag is never ours.
var taps = linkSpec[tapParams]{
	op: declareLinks("interface TAP", "tap", linkCalls[tapParams]{
		set:  func(_ bool, p tapParams) (req, reply api.Message) { return &p.TapCreateV3, &tapv2.TapCreateV3Reply{} },
		dump: dumpTaps,
	}, linkCalls[tapParams]{
		set: func(_ bool, p tapParams) (req, reply api.Message) {
			v2 := session.SameFields[tapv2.TapCreateV2](&p.TapCreateV3)
			return &v2, &tapv2.TapCreateV2Reply{}
		},
		dump: dumpTaps,
	}),
	prefixes: []string{"tap", "tun"},
	facts: traits{
		tagged: true, macInPlace: true, linkOptional: true, link: func() proto.Message { return &interfaces.TapLink{} },
		initialMTU: func(i *interfaces.Interface) uint32 {
			if i.GetTap().GetEnableTunnel() {
				return ifaceidx.UnknownMTU // of the host
			}
			return etherMTU
		},
	},
	resolve: func(r *item.Resolver, i *interfaces.Interface) tapParams {
		l := i.GetTap()
		if v := l.GetVersion(); v != 0 && v != 2 {
			r.Fail("tap.version", "%d, expected 2, or 0 for the default", v)
		}
		if n := l.GetHostIfName(); len(n) > maxHostName {
			r.Fail("tap.host_if_name", "%q has %d bytes, expected at most %d", n, len(n), maxHostName)
		}
		if label := l.GetToMicroservice(); label != "" {
			r.CreatedWith("microservice-available", microserviceKeyPrefix+label)
		}
		return tapParams{microservice: l.GetToMicroservice(), TapCreateV3: tapv2.TapCreateV3{
			ID: anyInstance, UseRandomMac: true, NumRxQueues: 1, NumTxQueues: 1, Tag: i.GetName(),
			RxRingSz: tapRing(r, "tap.rx_ring_size", l.GetRxRingSize()), TxRingSz: tapRing(r, "tap.tx_ring_size", l.GetTxRingSize()),
			HostIfNameSet: true, HostIfName: cmp.Or(l.GetHostIfName(), madeUpHostName(i.GetName())),
			TapFlags: session.Flags(map[tapv2.TapFlags]bool{
				tapv2.TAP_API_FLAG_GSO: l.GetEnableGso(), tapv2.TAP_API_FLAG_TUN: l.GetEnableTunnel(),
			}),
		}}
	},
	mac:  func(p *tapParams, mac vppcalls.MAC) { p.MacAddress, p.UseRandomMac = mac, false },
	meta: func(m *ifaceidx.IfMeta, p tapParams) { m.TAPHostIfName = p.HostIfName },
	describe: func(i *interfaces.Interface, p tapParams, known about) {
		i.Type, i.Link = interfaces.Interface_TAP, &interfaces.Interface_Tap{Tap: &interfaces.TapLink{
			Version: 2, HostIfName: p.HostIfName, RxRingSize: uint32(p.RxRingSz), TxRingSize: uint32(p.TxRingSz),
			EnableGso: p.TapFlags&tapv2.TAP_API_FLAG_GSO != 0, EnableTunnel: p.TapFlags&tapv2.TAP_API_FLAG_TUN != 0,
			ToMicroservice: known.wanted.GetTap().GetToMicroservice(),
		}}
	},
	chosen: func(p *tapParams, found tapParams) {
		modeled := p.TapCreateV3
		*p = found
		p.RxRingSz, p.TxRingSz, p.TapFlags, p.HostIfName = modeled.RxRingSz, modeled.TxRingSz, modeled.TapFlags, modeled.HostIfName
		p.HostMtuSize, p.HostNamespace, p.HostBridge = modeled.HostMtuSize, modeled.HostNamespace, modeled.HostBridge
		p.HostIP4Prefix, p.HostIP6Prefix = modeled.HostIP4Prefix, modeled.HostIP6Prefix
	},
	identity: func(i *interfaces.Interface) string {
		return identity("tap", field{value: cmp.Or(i.GetTap().GetHostIfName(), madeUpHostName(i.GetName()))}, field{value: i.GetTap().GetToMicroservice()})
	},
	delete: deletion[*tapv2.TapDeleteV2, *tapv2.TapDeleteV2Reply],
}

// tapRing returns the size of a ring, the default for 0.
func tapRing(r *item.Resolver, field string, n uint32) uint16 {
	if n > maxRingSize || n&(n-1) != 0 {
		r.Fail(field, "%d, expected a power of 2 up to %d, or 0 for %d", n, maxRingSize, defaultRingSize)
	}
	return uint16(orDefault(n, defaultRingSize))
}

// madeUpHostName is the name of the Linux side of an interface whose configuration has none.
func madeUpHostName(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return fmt.Sprintf("tap-%d", h.Sum32())
}

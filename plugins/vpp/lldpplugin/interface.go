package lldpplugin

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	lldpapi "go.fd.io/govpp/binapi/lldp"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	lldp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/lldp"
)

// speaker is an interface with LLDP.
type speaker struct {
	swIfIndex   interface_types.InterfaceIndex
	description string
	ip4, ip6    netip.Addr
}

var speakers = item.Declare("LLDP on interface", "lldp", item.Variant[speaker]{
	Change:   change,
	Unlisted: true,
	// VPP takes the same interface for no change, whatever is new.
	Reset: func(s speaker) (requests, replies []api.Message) {
		request, reply := change(s, false)
		return []api.Message{request}, []api.Message{reply}
	},
})

func change(s speaker, add bool) (request, reply api.Message) {
	set := &lldpapi.SwInterfaceSetLldp{SwIfIndex: s.swIfIndex, Enable: add, MgmtOid: make([]byte, 128)}
	if add {
		set.PortDesc = s.description
		if s.ip4.IsValid() {
			set.MgmtIP4 = s.ip4.As4()
		}
		if s.ip6.IsValid() {
			set.MgmtIP6 = s.ip6.As16()
		}
	}
	return set, &lldpapi.SwInterfaceSetLldpReply{}
}

// NewInterface describes interfaces with LLDP.
func NewInterface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*lldp.Interface, speaker, interface_types.InterfaceIndex]{
		Name: InterfaceName, Model: InterfaceModel, Operation: speakers,
		Resolve: func(r *item.Resolver, v *lldp.Interface) speaker {
			s := speaker{swIfIndex: r.Interface("interface", v.GetInterface(), ifmodel.MAC("LLDP")), description: v.GetPortDescription()}
			atMost(r, "port_description", s.description)
			s.ip4, s.ip6 = management(r, "management_ipv4", v.GetManagementIpv4()), management(r, "management_ipv6", v.GetManagementIpv6())
			return s
		},
		ID: func(s speaker) interface_types.InterfaceIndex { return s.swIfIndex },
		Value: func(n *item.Names, s speaker) *lldp.Interface {
			v := &lldp.Interface{Interface: n.Interface(s.swIfIndex), PortDescription: s.description}
			if s.ip4.IsValid() {
				v.ManagementIpv4 = s.ip4.String()
			}
			if s.ip6.IsValid() {
				v.ManagementIpv6 = s.ip6.String()
			}
			return v
		},
		Check: func(ctx context.Context, v *lldp.Interface, s speaker) error {
			return checkHardware(ctx, vpp, v.GetInterface(), s.swIfIndex)
		},
		Explain: map[api.VPPApiError]string{
			api.INVALID_VALUE: "interface: it has no MAC address; only Ethernet interfaces have LLDP",
		},
	})
}

// management returns an address, if there is one.
func management(r *item.Resolver, field, text string) netip.Addr {
	if text == "" {
		return netip.Addr{}
	}
	return ipconv.FromAddress(r.Host(field, text))
}

// checkHardware returns why VPP would enable LLDP on another interface: VPP takes the index of the
// interface for an index of hardware, which only its command line shows.
func checkHardware(ctx context.Context, vpp *session.VPP, name string, index interface_types.InterfaceIndex) error {
	all, err := session.Dump[*interfaces.SwInterfaceDetails](ctx, vpp, &interfaces.SwInterfaceDump{SwIfIndex: index})
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.SwIfIndex != index {
			continue
		}
		if d.SupSwIfIndex != uint32(index) {
			return kvs.Invalid(item.Invalid("interface", "%q is a sub-interface, expected the interface that it is a part of", name))
		}
		hardware, err := hardwareIndex(ctx, vpp, d.InterfaceName)
		if err != nil {
			return err
		}
		if hardware != uint32(index) {
			return item.Invalid("interface", "VPP would take another one for %q, because it has number %d and its hardware %d; "+
				"create it before sub-interfaces", name, index, hardware)
		}
	}
	return nil
}

// hardwareIndex returns the number of the hardware of an interface, by the name that VPP has for it.
func hardwareIndex(ctx context.Context, vpp *session.VPP, name string) (uint32, error) {
	command := "show hardware-interfaces brief " + name
	shown, err := vpp.Command(ctx, command)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(shown) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			if n, err := strconv.ParseUint(fields[1], 10, 32); err == nil {
				return uint32(n), nil
			}
		}
	}
	return 0, fmt.Errorf("command %q: VPP answers %q, expected the number of the hardware", command, shown)
}

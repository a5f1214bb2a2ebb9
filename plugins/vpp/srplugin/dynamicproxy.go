package srplugin

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/sr"
	"go.fd.io/govpp/binapi/sr_types"
	"go.fd.io/govpp/binapi/vlib"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

// The dynamic proxy (End.AD) is a behavior that the plugin srv6ad brings to VPP. VPP has no message
// that adds one or returns its arguments: the agent uses the command line for both. The message that
// removes a segment removes one of any behavior.

// dynamicProxy stands for the behavior. VPP numbers the behaviors of plugins as they are loaded.
const dynamicProxy = ^sr_types.SrBehavior(0)

// proxyMessages returns messages and those that read dynamic proxies.
func proxyMessages(messages ...api.Message) []api.Message {
	return append(messages, &vlib.CliInband{}, &vlib.CliInbandReply{}, &interfaces.SwInterfaceDump{}, &interfaces.SwInterfaceDetails{})
}

// proxies adds dynamic proxies one after the other.
type proxies struct {
	vpp *session.VPP
	mu  sync.Mutex
}

// add adds a dynamic proxy; it returns false for other behaviors. The segment comes last in the
// command: a VPP that takes "end.ad" for "end" and text that it does not know then has no segment,
// and adds nothing (sr_cli_localsid_command_fn in src/vnet/srv6/sr_localsid.c). With its length, as
// the removal has it: VPP distinguishes segments by both.
func (p *proxies) add(ctx context.Context, s localSID) (bool, error) {
	if s.Behavior != dynamicProxy {
		return false, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	names, err := interfaceNames(ctx, p.vpp)
	if err != nil {
		return true, err
	}
	if names[s.SwIfIndex] == "" || names[s.incoming] == "" {
		return true, item.Invalid("end_function_ad", "VPP no longer has the interfaces")
	}
	if err := p.checkService(ctx, s, names[s.incoming]); err != nil {
		return true, err
	}
	nextHop := ""
	if s.NhAddr != (ip_types.Address{}) {
		nextHop = "nh " + item.Addr(s.NhAddr) + " "
	}
	_, err = p.vpp.Command(ctx, fmt.Sprintf("sr localsid fib-table %d behavior end.ad %soif %s iif %s prefix %s/128",
		s.FibTable, nextHop, names[s.SwIfIndex], names[s.incoming], segmentText(s.Localsid)))
	return true, explainProxy(err)
}

// checkService refuses a dynamic proxy of a service whose packets another one takes. VPP would give them
// to the later one, and crash on them when one of the two is removed.
func (p *proxies) checkService(ctx context.Context, s localSID, incoming string) error {
	shown, err := p.vpp.Command(ctx, "show sr localsids")
	if err != nil {
		return err
	}
	for _, other := range parseProxies(shown) {
		if other.incoming == incoming && other.segment != s.Localsid && serves(other.nextHop) == serves(s.NhAddr) {
			return fmt.Errorf("end_function_ad.incoming_interface: the segment %s takes the %s of this interface already",
				segmentText(other.segment), serves(s.NhAddr))
		}
	}
	return nil
}

// proxyIdentities are the packets that a dynamic proxy takes, see checkService.
func proxyIdentities(v *srv6.LocalSID) []string {
	f := v.GetEndFunctionAd()
	if f == nil {
		return nil
	}
	var service ip_types.Address
	if a, err := netip.ParseAddr(f.GetL3ServiceAddress()); err == nil {
		service = ipconv.Address(a)
	}
	return []string{"SRv6 End.AD/" + f.GetIncomingInterface() + "/" + serves(service)}
}

// serves returns what VPP hands to a service with an address.
func serves(service ip_types.Address) string {
	switch {
	case service == ip_types.Address{}:
		return "frames"
	case service.Af == ip_types.ADDRESS_IP4:
		return "IPv4 packets"
	}
	return "IPv6 packets"
}

// explainProxy adds to an error what the answer of VPP means.
func explainProxy(err error) error {
	if err == nil {
		return nil
	}
	for answer, meaning := range map[string]error{
		"address is mandatory": kvs.Unimplemented(fmt.Errorf("SRv6 End.AD: %w (needs the plugin srv6ad of VPP)", binding.ErrUnsupported)),
		"Identical localsid":   item.Invalid("sid", "VPP has this segment already"),
		"FIB table":            item.Invalid("installation_vrf_id", "VPP does not have the table"),
		"already one FIB":      item.Invalid("sid", "VPP has a route to this address in the table"),
		"plugin based":         item.Invalid("end_function_ad.incoming_interface", "VPP refuses it, expected an interface that is no sub-interface"),
	} {
		if strings.Contains(err.Error(), answer) {
			return fmt.Errorf("%w: %w", meaning, err)
		}
	}
	return err
}

// interfaceNames returns the names that VPP has for interfaces.
func interfaceNames(ctx context.Context, vpp *session.VPP) (map[interface_types.InterfaceIndex]string, error) {
	names := map[interface_types.InterfaceIndex]string{}
	err := session.Each(ctx, vpp, &interfaces.SwInterfaceDump{SwIfIndex: ^interface_types.InterfaceIndex(0)}, func(d *interfaces.SwInterfaceDetails) {
		names[d.SwIfIndex] = d.InterfaceName
	})
	return names, err
}

// listLocalSIDs lists the segments of items. It asks for dynamic proxies if VPP has segments of
// other behaviors.
func listLocalSIDs(ctx context.Context, vpp *session.VPP) (all []localSID, err error) {
	others := map[ip_types.IP6Address]localSID{}
	err = session.Each(ctx, vpp, &sr.SrLocalsidsDump{}, func(d *sr.SrLocalsidsDetails) {
		if s := localSIDOf(d); withArgument[d.Behavior] != 0 {
			all = append(all, s)
		} else {
			others[d.Addr] = s
		}
	})
	if err != nil || len(others) == 0 {
		return all, err
	}
	shown, err := vpp.Command(ctx, "show sr localsids")
	if err != nil {
		return nil, err
	}
	names, err := interfaceNames(ctx, vpp)
	if err != nil {
		return nil, err
	}
	indexes := make(map[string]interface_types.InterfaceIndex, len(names))
	for index, name := range names {
		indexes[name] = index
	}
	for _, p := range parseProxies(shown) {
		s, listed := others[p.segment]
		out, hasOut := indexes[p.outgoing]
		in, hasIn := indexes[p.incoming]
		if listed && hasOut && hasIn { // VPP keeps segments of deleted interfaces
			s.Behavior, s.SwIfIndex, s.incoming, s.NhAddr = dynamicProxy, out, in, p.nextHop
			all = append(all, s)
		}
	}
	return all, nil
}

// proxy is a dynamic proxy as VPP shows it.
type proxy struct {
	segment            ip_types.IP6Address
	nextHop            ip_types.Address // zero: a service on layer 2
	outgoing, incoming string
}

// parseProxies returns the dynamic proxies of what "show sr localsids" prints:
// show_sr_localsid_command_fn in src/vnet/srv6/sr_localsid.c and format_srv6_ad_localsid in
// src/plugins/srv6-ad/ad.c. Every line is a name, a colon and a value; a line of dashes ends a segment.
func parseProxies(shown string) (all []proxy) {
	fields := map[string]string{}
	for line := range strings.Lines(shown) {
		if name, value, found := strings.Cut(line, ":"); found {
			fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
			continue
		}
		if !strings.HasPrefix(strings.TrimSpace(line), "----") {
			continue
		}
		address, _, _ := strings.Cut(fields["Address"], "/")
		segment, err := netip.ParseAddr(address)
		if err == nil && segment.Is6() && strings.HasPrefix(fields["Behavior"], "End.AD ") {
			p := proxy{segment: segment.As16(), outgoing: fields["Outgoing iface"], incoming: fields["Incoming iface"]}
			if nextHop, err := netip.ParseAddr(fields["Next-hop"]); err == nil {
				p.nextHop = ipconv.Address(nextHop)
			}
			all = append(all, p)
		}
		clear(fields)
	}
	return all
}

func proxyValue(n *item.Names, s localSID) *srv6.LocalSID_EndAD {
	v := &srv6.LocalSID_EndAD{OutgoingInterface: n.Interface(s.SwIfIndex), IncomingInterface: n.Interface(s.incoming)}
	if s.NhAddr != (ip_types.Address{}) {
		v.L3ServiceAddress = item.Addr(s.NhAddr)
	}
	return v
}

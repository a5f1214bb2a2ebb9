package vpptest_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	interfacesapi "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/l2"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	vpp_l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// chosenMAC begins the MAC addresses of configurations.
const chosenMAC = "02:00:00:00:"

// State implements walktest.World.
func (w *walk) State() []string {
	var state []string
	if w.target.Sim != nil {
		state = slices.Concat(w.items(), w.simulated())
	} else {
		state = w.read()
	}
	for _, d := range w.AllInterfaces() {
		if mac := d.L2Address; strings.HasPrefix(mac.String(), chosenMAC) {
			state = append(state, fmt.Sprintf("MAC address of %s is %s", d.Tag, mac))
		}
	}
	return state
}

func (w *walk) simulated() []string {
	state := vpptest.Canonical(w.target.Sim.Dump())
	for n, line := range state {
		if !strings.Contains(line, " admin-up") { // the link of one that is down means nothing
			state[n] = strings.Replace(line, " link-up", "", 1)
		}
	}
	return state
}

// read reads a real VPP: with the agent, the API, and the command line.
func (w *walk) read() []string {
	vpp := w.names()
	state := slices.Concat(w.items(), w.interfaces(vpp), w.domains(vpp), w.routes(vpp))
	for _, command := range []string{
		"show acl-plugin interface", "show classify tables", "show interface span", "show ip6 interface",
		"show lldp", "show nat44 interfaces", "show qos record", "show qos store", "show qos mark",
	} {
		for line := range strings.Lines(w.CLI(command)) {
			line = classifyTable.ReplaceAllString(vpp.named(strings.TrimSpace(line)), "table with $1 sessions, last $2")
			if line != "" && !passing.MatchString(line) {
				state = append(state, command+": "+line)
			}
		}
	}
	return state
}

// passing matches lines without state: numbers that VPP chooses, times, and the MTU in router
// advertisements, which is the one when IPv6 was enabled.
var passing = regexp.MustCompile(`(?i)link-local address|mtu is|sw_if_index|index|adjacency|\blast\b|\bnext\b|packets|solicitations|trimmable|(?:input|output) acl|advertisements sent|heap|uptime|[0-9.]+s\b`)

// classifyTable matches a line of "show classify tables": index, sessions, index of the next table, next node.
var classifyTable = regexp.MustCompile(`^\d+ (\d+) (?:(-1)|\d+) -?\d+$`)

// vppNames are the names of the interfaces, in VPP and by their indices.
type vppNames struct {
	all     []*interfacesapi.SwInterfaceDetails
	names   map[string]string
	indices map[interface_types.InterfaceIndex]string
}

func (w *walk) names() vppNames {
	v := vppNames{w.AllInterfaces(), map[string]string{}, map[interface_types.InterfaceIndex]string{}}
	for _, d := range v.all {
		name := d.Tag
		if name == "" {
			name = "untagged-" + strings.TrimRight(d.InterfaceName, "0123456789")
		}
		v.names[d.InterfaceName], v.indices[d.SwIfIndex] = name, name
	}
	return v
}

var (
	word  = regexp.MustCompile(`[A-Za-z_][\w./-]*`)
	blank = regexp.MustCompile(`\s+`)
	mac   = regexp.MustCompile(`\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b`)
	link  = regexp.MustCompile(`\b(fe80::|ff02::1:ff)[0-9a-f:]+`) // follow from MAC addresses
)

// named calls interfaces by their tags, and hides chosen addresses.
func (v vppNames) named(line string) string {
	line = word.ReplaceAllStringFunc(line, func(s string) string {
		if name, known := v.names[s]; known {
			return name
		}
		return s
	})
	return withoutChosen(line)
}

// withoutChosen hides the addresses that VPP or the agent chose.
func withoutChosen(line string) string {
	line = mac.ReplaceAllStringFunc(line, func(s string) string {
		if strings.HasPrefix(s, chosenMAC) {
			return s
		}
		return "MAC"
	})
	return link.ReplaceAllString(blank.ReplaceAllString(line, " "), "LINK-LOCAL")
}

var untaggedName = regexp.MustCompile(`(UNTAGGED-[A-Za-z_/]+)[\d/.]+`)

// ordered returns a value without the order in which members joined.
func ordered(v proto.Message) proto.Message {
	domain, ok := v.(*vpp_l2.BridgeDomain)
	if !ok {
		return v
	}
	domain = proto.CloneOf(domain)
	slices.SortFunc(domain.Interfaces, func(a, b *vpp_l2.BridgeDomain_Interface) int { return strings.Compare(a.GetName(), b.GetName()) })
	return domain
}

// items are the items that the agent reads.
func (w *walk) items() (state []string) {
	for _, d := range w.Scheduler.ListDescriptors() {
		all, err := w.Scheduler.DumpValuesByDescriptor(d.Name, kvs.SBView)
		if err != nil {
			state = append(state, fmt.Sprintf("%s: %v", d.Name, err))
		}
		for _, kv := range all {
			if strings.Contains(kv.Key, "/status/") || strings.Contains(kv.Key, "/link-state/") {
				continue
			}
			line := untaggedName.ReplaceAllString(fmt.Sprintf("%s %s %s", d.Name, kv.Key, text(ordered(kv.Value))), "$1")
			state = append(state, withoutChosen(line)) // its names are the tags
		}
	}
	return state
}

// interfaces are their settings, and the features that are enabled on them.
func (w *walk) interfaces(vpp vppNames) (state []string) {
	for _, d := range vpp.all {
		name := vpp.indices[d.SwIfIndex]
		parent := ""
		if d.SupSwIfIndex != uint32(d.SwIfIndex) {
			parent = vpp.indices[interface_types.InterfaceIndex(d.SupSwIfIndex)]
		}
		state = append(state, fmt.Sprintf("interface %s %s up %t mtu %d link mtu %d of %q tags %d %d %v rewrite %d %d %d %d", name, d.InterfaceDevType,
			d.Flags&interface_types.IF_STATUS_API_FLAG_ADMIN_UP != 0, d.Mtu, d.LinkMtu, parent, d.SubOuterVlanID, d.SubInnerVlanID,
			d.SubIfFlags, d.VtrOp, d.VtrPushDot1q, d.VtrTag1, d.VtrTag2))
		arc := ""
		for line := range strings.Lines(w.CLI("show interface features " + d.InterfaceName)) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasSuffix(line, ":"):
				arc = line
			case line == "arp-disabled": // as without a feature: ARP packets are dropped
			case line != "" && line != "none configured" && !strings.HasPrefix(line, "Feature paths"):
				state = append(state, fmt.Sprintf("feature of %s: %s %s", name, arc, vpp.named(line)))
			}
		}
		state = append(state, fmt.Sprintf("mode of %s: %s", name, mode(w.CLI("show mode "+d.InterfaceName))))
	}
	return state
}

// mode is whether an interface is in layer 2 or 3.
func mode(text string) string {
	text, _, _ = strings.Cut(blank.ReplaceAllString(strings.TrimSpace(text), " "), " ")
	return text
}

// domains are the bridge domains with their members, without the numbers.
func (w *walk) domains(vpp vppNames) (state []string) {
	all, err := binapi.Dump[*l2.BridgeDomainDetails](w.t.Context(), w.Mux.Conn(), &l2.BridgeDomainDump{BdID: ^uint32(0), SwIfIndex: ^interface_types.InterfaceIndex(0)})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range all {
		for line := range strings.Lines(w.CLI(fmt.Sprintf("show bridge-domain %d detail", d.BdID))) {
			words := strings.Fields(vpp.named(strings.TrimSpace(line)))
			if len(words) > 3 && slices.Contains(slices.Collect(maps.Values(vpp.names)), words[0]) {
				words = slices.Delete(words, 1, 3) // its index and a sequence number
				state = append(state, fmt.Sprintf("member of %q: %s", d.BdTag, strings.Join(words, " ")))
			}
		}
	}
	return state
}

// routes reads all routes, including routes of neighbours and of VPP itself.
func (w *walk) routes(vpp vppNames) (state []string) {
	tables, err := binapi.Dump[*ip.IPTableDetails](w.t.Context(), w.Mux.Conn(), &ip.IPTableDump{})
	if err != nil {
		w.t.Fatal(err)
	}
	line := func(what string, table ip.IPTable, prefix string, paths []string) {
		if strings.HasPrefix(prefix, "fe80::") { // follow from MAC addresses
			return
		}
		slices.Sort(paths)
		state = append(state, fmt.Sprintf("%s in table %d ip6 %t %s via %s", what, table.TableID, table.IsIP6, prefix, strings.Join(paths, "; ")))
	}
	for _, t := range tables {
		if t.Table.TableID == ^uint32(0) { // tables of SRv6: they share this number, and VPP lists one of them
			continue
		}
		table := ip.IPTable{TableID: t.Table.TableID, IsIP6: t.Table.IsIP6}
		w.each(&ip.IPRouteV2Dump{Table: table}, func() api.Message { return &ip.IPRouteV2Details{} }, func(m api.Message) {
			r := m.(*ip.IPRouteV2Details).Route
			if r.Src == adjacencySource || tracksPathMTU(r) {
				return
			}
			var paths []string
			for _, p := range r.Paths {
				paths = append(paths, vpp.path(p.SwIfIndex, fmt.Sprint(p.Type, p.Proto, p.Flags, p.Weight, p.Preference, p.TableID, p.Nh.Address, p.NLabels)))
			}
			line(fmt.Sprintf("route of source %d", r.Src), table, r.Prefix.String(), paths)
		})
		w.each(&ip.IPMrouteDump{Table: table}, func() api.Message { return &ip.IPMrouteDetails{} }, func(m api.Message) {
			r := m.(*ip.IPMrouteDetails).Route
			var paths []string
			for _, p := range r.Paths {
				paths = append(paths, vpp.path(p.Path.SwIfIndex, fmt.Sprint(p.ItfFlags, p.Path.Type, p.Path.Flags)))
			}
			line("multicast route", table, fmt.Sprint(r.Prefix.GrpAddress, r.Prefix.GrpAddressLength, r.Prefix.SrcAddress), paths)
		})
	}
	return state
}

// adjacencySource is the source of routes to neighbours. They follow from the neighbours, which are compared
// themselves; VPP also has routes to neighbours that it looks for, such as the far end of a tunnel.
const adjacencySource = 15

// lastFixedSource is the last source of routes that VPP has itself. Its features get the numbers after it.
const lastFixedSource = 17

// tracksPathMTU reports whether VPP follows the path to a host for its MTU. It does so after the item is gone, too.
func tracksPathMTU(r ip.IPRouteV2) bool {
	host := r.Prefix.Len == 32 && r.Prefix.Address.Af == ip_types.ADDRESS_IP4 || r.Prefix.Len == 128
	return host && r.Src > lastFixedSource && len(r.Paths) == 1 && r.Paths[0].Type == fib_types.FIB_API_PATH_TYPE_DROP
}

func (v vppNames) path(index uint32, rest string) string {
	name, known := v.indices[interface_types.InterfaceIndex(index)]
	switch {
	case index == ^uint32(0):
		name = "-"
	case !known:
		name = "DELETED"
	}
	return name + " " + rest
}

func (w *walk) each(request api.Message, record func() api.Message, f func(api.Message)) {
	err := w.Mux.Conn().Dump(w.t.Context(), request, record, func(m api.Message) error {
		f(m)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

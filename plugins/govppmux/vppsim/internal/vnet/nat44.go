package vnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/nat_types"
)

// nat44 is what the two kinds of NAT44 have in common: endpoint-dependent (ED) and
// endpoint-independent (EI). VPP lets both be enabled at once. A kind that is disabled
// forgets all but its timeouts and numbers of buckets.
type nat44 struct {
	*VNet
	ei bool

	on         bool
	config     natConfig
	buckets    uint32 // of translations
	userBucket uint32
	timeouts   nat_types.NatTimeouts
	forwarding bool
	addresses  []natAddress
	twice      []natAddress // for the source of twice-NAT
	followed   []natFollowed
	ifs        pool[natInterface]
	outputs    pool[natInterface]
	mappings   pool[natMapping]
	byExternal map[natEnd]uint32
	byLocal    map[natEnd]uint32
	resolves   []*natMapping // those with an interface instead of an address
	tables     pool[natTable]
	receives   natReceives
}

type natConfig struct {
	insideVRF, outsideVRF, users, sessions, userSessions uint32
	flags                                                uint8
}

type natAddress struct {
	addr  ip_types.IP4Address
	table *fib.Table // nil: any
}

type natInterface struct {
	index           uint32
	inside, outside bool
}

// natEnd is the key for looking up mappings; outside ends have VRF table 0.
type natEnd struct {
	addr  ip_types.IP4Address
	port  uint16
	proto uint8
	vrf   uint32
}

// natFlags are the flags of a mapping.
type natFlags struct {
	addrOnly, twice, self, out2in, identity, lb bool
}

type natMapping struct {
	natFlags
	local, external ip_types.IP4Address
	localPort, port uint16
	proto           uint8
	vrf             uint32
	iface           uint32 // with the outside address; none: external is it
	tag             string
	locals          natLocals // of identity and load-balanced mappings
	resolved        bool      // has a mapping of its own for the address
	resolvedTo      ip_types.IP4Address
	table           *fib.Table
}

type natLocal struct {
	addr        ip_types.IP4Address
	port        uint16
	probability uint8
	vrf         uint32
	table       *fib.Table
}

type natLocals struct{ pool[natLocal] }

func (ls *natLocals) texts() string {
	var out []string
	for _, l := range ls.all() {
		out = append(out, fmt.Sprintf("%s:%d %d%% in %d", l.addr, l.port, l.probability, l.vrf))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// natTable is a VRF table whose translations may lead to others.
type natTable struct {
	table  *fib.Table
	routes pool[fib.Table]
}

func (n *nat44) reset() {
	*n = nat44{VNet: n.VNet, ei: n.ei, receives: newNATReceives()}
	n.forget()
}

func (n *nat44) forget() {
	n.addresses, n.twice, n.followed, n.resolves = nil, nil, nil, nil
	n.ifs, n.outputs, n.tables = pool[natInterface]{}, pool[natInterface]{}, pool[natTable]{}
	n.mappings = pool[natMapping]{}
	n.byExternal, n.byLocal = map[natEnd]uint32{}, map[natEnd]uint32{}
}

// disabled is the answer of a kind that is disabled to what only EI refuses by it.
func (n *nat44) disabled() retval {
	if n.before("23.02") {
		return 1
	}
	return api.FEATURE_ALREADY_DISABLED
}

// refuses is the answer of a kind that is disabled.
func (n *nat44) refuses() retval {
	if n.ei {
		return n.disabled()
	}
	return api.UNSUPPORTED
}

func (n *nat44) enable(c natConfig) retval {
	if n.on {
		if n.before("23.02") {
			return 1
		}
		return api.FEATURE_ALREADY_ENABLED
	}
	if n.ei {
		c.users, c.sessions = orDefault(c.users, 1024), orDefault(c.sessions, 10*1024)
		c.userSessions = orDefault(c.userSessions, c.sessions)
		n.userBucket = natBuckets(c.users)
	} else {
		c.sessions = orDefault(c.sessions, 63*1024)
	}
	n.on, n.config, n.forwarding, n.buckets = true, c, false, natBuckets(c.sessions)
	n.timeouts = nat_types.NatTimeouts{UDP: 300, TCPEstablished: 7440, TCPTransitory: 240, ICMP: 60}
	n.holdTable(ip4, c.insideVRF)
	n.holdTable(ip4, c.outsideVRF)
	return ok
}

func orDefault(n, value uint32) uint32 {
	if n == 0 {
		return value
	}
	return n
}

// natBuckets is nat_calc_bihash_buckets (src/plugins/nat/lib/lib.h).
func natBuckets(n uint32) uint32 {
	n = uint32(float64(n) / 2.5)
	low := uint64(1)
	for low*2 < uint64(n) {
		low *= 2
	}
	if 2*low-uint64(n) < uint64(n)-low {
		return uint32(2 * low)
	}
	return uint32(low)
}

// disable does not release the tables that enable holds.
func (n *nat44) disable() retval {
	if !n.on {
		return n.disabled()
	}
	for _, m := range n.mappings.all() {
		n.releaseMapping(m)
		if !m.lb {
			n.receive(m.external, false)
		}
	}
	for _, a := range n.addresses {
		n.receive(a.addr, false)
	}
	for _, a := range slices.Concat(n.addresses, n.twice) {
		n.releaseAddress(a)
	}
	for _, t := range n.tables.all() {
		n.releaseNATTable(t)
	}
	n.forget()
	n.on, n.config, n.forwarding = false, natConfig{}, false
	return ok
}

// changeRange adds or removes the addresses of a range up to the first that cannot be.
func (n *nat44) changeRange(first, last ip_types.IP4Address, vrf uint32, add, twice bool) retval {
	addrs := &n.addresses
	if twice {
		addrs = &n.twice
	}
	end := netip.AddrFrom4(last)
	for at := netip.AddrFrom4(first); !end.Less(at); at = at.Next() {
		change := n.removeAddress
		if add {
			change = n.addAddress
		}
		if rv := change(addrs, natAddress{addr: at.As4()}, vrf); rv != ok {
			return rv
		}
	}
	return ok
}

func (n *nat44) addAddress(to *[]natAddress, a natAddress, vrf uint32) retval {
	switch {
	case !n.on:
		return n.refuses()
	case lookForNATAddress(*to, a.addr) >= 0:
		return api.VALUE_EXIST
	case vrf != none:
		a.table = n.holdTable(ip4, vrf)
	}
	*to = append(*to, a)
	if to == &n.addresses {
		n.receive(a.addr, true)
	}
	return ok
}

// removeAddress: EI wants its static mappings to be removed before.
func (n *nat44) removeAddress(from *[]natAddress, a natAddress, _ uint32) retval {
	at := lookForNATAddress(*from, a.addr)
	switch {
	case n.ei && !n.on:
		return n.refuses()
	case at < 0:
		return api.NO_SUCH_ENTRY
	}
	if n.ei {
		if _, m := n.mappings.find(func(m *natMapping) bool { return !m.addrOnly && !m.identity && m.external == a.addr }); m != nil {
			return api.UNSPECIFIED
		}
	}
	if from == &n.addresses {
		n.receive(a.addr, false)
	}
	n.releaseAddress((*from)[at])
	// The last one takes its place.
	end := len(*from) - 1
	(*from)[at] = (*from)[end]
	*from = (*from)[:end]
	return ok
}

func lookForNATAddress(in []natAddress, addr ip_types.IP4Address) int {
	return slices.IndexFunc(in, func(a natAddress) bool { return a.addr == addr })
}

func (n *nat44) releaseAddress(a natAddress) {
	if a.table != nil {
		n.releaseTable(a.table)
	}
}

func (a natAddress) vrf() uint32 {
	if a.table == nil {
		return none
	}
	return a.table.ID
}

func findNAT(p *pool[natInterface], index uint32) (uint32, *natInterface) {
	return p.find(func(i *natInterface) bool { return i.index == index })
}

// changeSide makes an interface one of the inside or outside, or ends that. VPP does not
// ask which of the two an interface is when it ends.
func (n *nat44) changeSide(index ifIndex, inside, add bool) retval {
	at, i := findNAT(&n.ifs, uint32(index))
	_, output := findNAT(&n.outputs, uint32(index))
	switch {
	case n.byIndex(index) == nil:
		return api.INVALID_SW_IF_INDEX
	case !n.on:
		return n.refuses()
	case add && output != nil:
		return api.VALUE_EXIST
	case add && i == nil:
		i = &natInterface{index: uint32(index)}
		n.ifs.add(i)
	case !add && i == nil:
		return api.NO_SUCH_ENTRY
	case !add && !(i.inside && i.outside):
		n.ifs.remove(at)
	}
	if !inside && i.outside != add {
		n.receiveAll(uint32(index), add)
	}
	if inside {
		i.inside = add
	} else {
		i.outside = add
	}
	return ok
}

func (n *nat44) changeOutput(index ifIndex, add bool) retval {
	_, i := findNAT(&n.ifs, uint32(index))
	at, output := findNAT(&n.outputs, uint32(index))
	switch {
	case n.byIndex(index) == nil:
		return api.INVALID_SW_IF_INDEX
	case !n.on:
		return n.refuses()
	case add && (i != nil || output != nil):
		return api.VALUE_EXIST
	case add:
		n.outputs.add(&natInterface{index: uint32(index), inside: true, outside: true})
		n.receiveAll(uint32(index), true)
	case output == nil:
		return api.NO_SUCH_ENTRY
	default:
		n.outputs.remove(at)
		n.receiveAll(uint32(index), false)
	}
	return ok
}

// interfaceRemoved: VPP 22.10 does not clean up.
func (n *nat44) interfaceRemoved(i *swInterface) {
	if n.before("23.02") {
		return
	}
	for _, p := range []*pool[natInterface]{&n.ifs, &n.outputs} {
		if at, has := findNAT(p, i.index); has != nil {
			p.remove(at)
			if has.outside {
				n.receiveAll(i.index, false)
			}
		}
	}
}

// afterRequest gives the mappings of an interface the address that it has now. EI does it
// only for mappings of all ports.
func (n *nat44) afterRequest() {
	for _, r := range n.resolves {
		if n.ei && !r.addrOnly {
			continue
		}
		addr, has := n.firstAddress(r.iface)
		if r.resolved && (!has || addr != r.resolvedTo) {
			n.removeMapping(*r, r.resolvedTo)
			r.resolved = false
		}
		if has && !r.resolved {
			r.resolved = n.addMapping(*r, addr) == ok
			r.resolvedTo = addr
		}
	}
}

func (n *nat44) firstAddress(index uint32) (ip_types.IP4Address, bool) {
	i := n.VNet.ifs.at(index)
	if i == nil || len(i.addresses[ip4]) == 0 {
		return ip_types.IP4Address{}, false
	}
	return i.addresses[ip4][0].prefix.Addr().As4(), true
}

// changeMapping adds or removes a static or an identity mapping.
func (n *nat44) changeMapping(m natMapping, add bool) retval {
	if m.addrOnly {
		m.port, m.localPort, m.proto = 0, 0, 0
	}
	if m.iface != none {
		m.external = ip_types.IP4Address{}
	}
	switch {
	case !n.ei && !n.on:
		return n.refuses()
	case m.identity && m.out2in, (m.twice || m.self) && (m.addrOnly || m.identity):
		return api.UNSUPPORTED
	case m.iface == none && add:
		return n.addMapping(m, m.external)
	case m.iface == none:
		return n.removeMapping(m, m.external)
	case add:
		return n.addResolve(m)
	}
	return n.removeResolve(m)
}

func (n *nat44) addResolve(m natMapping) retval {
	if n.lookForResolve(&m) >= 0 {
		return api.VALUE_EXIST
	}
	addr, has := n.firstAddress(m.iface)
	rv := ok
	if has {
		rv = n.addMapping(m, addr)
	}
	// EI keeps most of what it refuses.
	if rv == ok || n.ei && (rv != api.NO_SUCH_ENTRY || m.identity) {
		m.resolved, m.resolvedTo = has && rv == ok, addr
		n.resolves = append(n.resolves, &m)
	}
	return rv
}

func (n *nat44) removeResolve(m natMapping) retval {
	at := n.lookForResolve(&m)
	if at < 0 {
		return api.NO_SUCH_ENTRY
	}
	end := len(n.resolves) - 1
	n.resolves[at] = n.resolves[end]
	n.resolves = n.resolves[:end]
	addr, has := n.firstAddress(m.iface)
	if !has {
		return ok
	}
	rv := n.removeMapping(m, addr)
	if n.ei && rv == api.NO_SUCH_ENTRY {
		return ok
	}
	return rv
}

func (n *nat44) lookForResolve(m *natMapping) int {
	return slices.IndexFunc(n.resolves, func(r *natMapping) bool {
		if r.iface != m.iface || r.vrf != m.vrf || r.identity != m.identity {
			return false
		}
		sameLocal := m.identity || r.local == m.local
		samePorts := r.port == m.port && r.proto == m.proto && (m.identity || r.localPort == m.localPort)
		return sameLocal && (r.addrOnly && m.addrOnly || samePorts)
	})
}

// ends completes a mapping to an outside address and returns what it is found by.
func (m *natMapping) ends(external ip_types.IP4Address) natEnd {
	m.external, m.iface = external, none
	if m.identity {
		m.local, m.localPort = external, m.port
	}
	return natEnd{external, m.port, m.proto, 0}
}

func (m *natMapping) localEnd() natEnd { return natEnd{m.local, m.localPort, m.proto, m.vrf} }

func (n *nat44) addMapping(m natMapping, external ip_types.IP4Address) retval {
	end := m.ends(external)
	if n.ei && !n.on {
		return n.refuses()
	}
	if at, has := n.byExternal[end]; has {
		return n.addIdentity(n.mappings.at(at), m.vrf)
	}
	if m.vrf == none {
		m.vrf = n.config.insideVRF
	}
	// VPP does not release the table when it refuses the mapping.
	m.table = n.holdTable(ip4, m.vrf)
	if _, has := n.byLocal[m.localEnd()]; has && !m.identity && !m.out2in {
		return api.VALUE_EXIST
	}
	if n.ei && !m.addrOnly && lookForNATAddress(n.addresses, external) < 0 {
		return api.NO_SUCH_ENTRY
	}
	at := n.mappings.add(&m)
	if m.identity {
		m.locals.add(&natLocal{vrf: m.vrf, table: m.table})
	}
	n.byExternal[end] = at
	if !m.out2in {
		n.byLocal[m.localEnd()] = at
	}
	if !n.ei || m.addrOnly {
		n.receive(external, true)
	}
	return ok
}

// addIdentity adds a VRF table to an identity mapping.
func (n *nat44) addIdentity(m *natMapping, vrf uint32) retval {
	if !m.identity {
		return api.VALUE_EXIST
	}
	if _, has := m.locals.find(func(l *natLocal) bool { return l.vrf == vrf }); has != nil {
		return api.VALUE_EXIST
	}
	m.locals.add(&natLocal{vrf: vrf, table: n.holdTable(ip4, vrf)})
	return ok
}

func (n *nat44) removeMapping(m natMapping, external ip_types.IP4Address) retval {
	end := m.ends(external)
	if n.ei && !n.on {
		return n.refuses()
	}
	at, has := n.byExternal[end]
	if !has {
		return api.NO_SUCH_ENTRY
	}
	found := n.mappings.at(at)
	if m.identity {
		if m.vrf == none {
			m.vrf = n.config.insideVRF
		}
		index, local := found.locals.find(func(l *natLocal) bool { return l.vrf == m.vrf })
		if local == nil {
			return api.NO_SUCH_ENTRY
		}
		found.locals.remove(index)
		n.releaseTable(local.table)
		if len(found.locals.free) < len(found.locals.items) {
			return ok
		}
	} else if found.lb {
		return ok // VPP releases a table and leaves the rest
	} else {
		n.releaseTable(found.table)
	}
	n.drop(at, end)
	if !n.ei || m.addrOnly && !m.identity {
		n.receive(external, false)
	}
	return ok
}

func (n *nat44) drop(at uint32, end natEnd) {
	m := n.mappings.at(at)
	delete(n.byExternal, end)
	delete(n.byLocal, m.localEnd())
	n.mappings.remove(at)
}

func (n *nat44) releaseMapping(m *natMapping) {
	if !m.lb && !m.identity {
		n.releaseTable(m.table)
	}
	for _, l := range m.locals.all() {
		n.releaseTable(l.table)
	}
}

// changeBalanced adds or removes a load-balanced mapping.
func (n *nat44) changeBalanced(m natMapping, add bool) retval {
	end := natEnd{m.external, m.port, m.proto, 0}
	at, has := n.byExternal[end]
	switch {
	case !n.on:
		return n.refuses()
	case add && has:
		return api.VALUE_EXIST
	case add && len(m.locals.items) < 2:
		return api.INVALID_VALUE
	case add && !m.out2in && lookForNATAddress(n.addresses, m.external) < 0:
		return api.NO_SUCH_ENTRY
	case add:
		m.lb = true
		for _, l := range m.locals.all() {
			l.table = n.holdTable(ip4, l.vrf)
		}
		n.byExternal[end] = n.mappings.add(&m)
	case !has:
		return api.NO_SUCH_ENTRY
	case !n.mappings.at(at).lb:
		return api.INVALID_VALUE
	default:
		n.releaseMapping(n.mappings.at(at))
		n.drop(at, end)
	}
	return ok
}

// changeLocal adds or removes a local address of a load-balanced mapping, which keeps two.
func (n *nat44) changeLocal(end natEnd, l natLocal, add bool) retval {
	at, has := n.byExternal[end]
	if !has {
		return api.NO_SUCH_ENTRY
	}
	m := n.mappings.at(at)
	if !m.lb {
		return api.INVALID_VALUE
	}
	index, local := m.locals.find(func(x *natLocal) bool { return x.addr == l.addr && x.port == l.port && x.vrf == l.vrf })
	switch {
	case add && local != nil:
		return api.VALUE_EXIST
	case add:
		l.table = n.holdTable(ip4, l.vrf)
		m.locals.add(&l)
	case local == nil:
		return api.NO_SUCH_ENTRY
	case len(m.locals.items)-len(m.locals.free) < 3:
		return api.UNSPECIFIED
	default:
		n.releaseTable(local.table)
		m.locals.remove(index)
	}
	return ok
}

// changeTable adds or removes a VRF table of NAT, with its routes; the kind may be disabled.
func (n *nat44) changeTable(id uint32, add bool) retval {
	at, t := n.natTable(id)
	switch {
	case add && t != nil:
		return api.VALUE_EXIST
	case add:
		n.tables.add(&natTable{table: n.holdTable(ip4, id)})
	case t == nil:
		return api.NO_SUCH_ENTRY
	default:
		n.releaseNATTable(t)
		n.tables.remove(at)
	}
	return ok
}

func (n *nat44) natTable(id uint32) (uint32, *natTable) {
	return n.tables.find(func(t *natTable) bool { return t.table.ID == id })
}

func (n *nat44) releaseNATTable(t *natTable) {
	for _, r := range t.routes.all() {
		n.releaseTable(r)
	}
	n.releaseTable(t.table)
}

func (n *nat44) changeRoute(from, to uint32, add bool) retval {
	_, t := n.natTable(from)
	if t == nil {
		return api.NO_SUCH_ENTRY
	}
	at, r := t.routes.find(func(r *fib.Table) bool { return r.ID == to })
	switch {
	case add && r != nil:
		return api.VALUE_EXIST
	case add:
		t.routes.add(n.holdTable(ip4, to))
	case r == nil:
		return api.NO_SUCH_ENTRY
	default:
		n.releaseTable(r)
		t.routes.remove(at)
	}
	return ok
}

func (n *nat44) dump(b *strings.Builder) {
	name := "nat44-ed"
	if n.ei {
		name = "nat44-ei"
	}
	if n.on {
		fmt.Fprintf(b, "%s %+v forwarding %t %v\n", name, n.config, n.forwarding, n.timeouts)
	}
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, name+" "+fmt.Sprintf(format, args...)+"\n") }
	for _, a := range n.addresses {
		line("address %s in %d", a.addr, a.vrf())
	}
	for r, index := range n.receives.entries {
		line("receives %s in table %d on %s", r.addr, r.table, n.orStaleIf(index))
	}
	for _, a := range n.twice {
		line("twice-nat address %s in %d", a.addr, a.vrf())
	}
	for _, i := range n.ifs.all() {
		line("interface %s inside %t outside %t", n.orStaleIf(i.index), i.inside, i.outside)
	}
	for _, i := range n.outputs.all() {
		line("output interface %s", n.orStaleIf(i.index))
	}
	for _, m := range n.mappings.all() {
		line("mapping %q %+v %s:%d to %s:%d proto %d in %d locals %s", m.tag, m.natFlags, m.external, m.port, m.local, m.localPort, m.proto, m.vrf, m.locals.texts())
	}
	for _, m := range n.resolves {
		line("mapping %q %+v %s:%d to %s:%d proto %d in %d", m.tag, m.natFlags, n.orStaleIf(m.iface), m.port, m.local, m.localPort, m.proto, m.vrf)
	}
	for _, t := range n.tables.all() {
		var to []uint32
		for _, r := range t.routes.all() {
			to = append(to, r.ID)
		}
		slices.Sort(to)
		line("vrf table %d to %v", t.table.ID, to)
	}
	dumpSorted(b, lines)
}

package topology

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	linuxmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/topology/response"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	linuxif "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	linuxns "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	linuxcp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/linuxcp"
)

// value is an item of the configuration, or what VPP has by itself.
type value struct {
	key     string
	message proto.Message
	status  *api.BaseValueStatus // of the item and of its derived values
	// found: VPP has it, no source configures it.
	found bool
}

// input is all that the picture depends on.
type input struct {
	models      *models.Set
	descriptors []*api.KVDescriptor
	values      map[string][]value // by model, sorted by key
	// links are the states of interfaces: by box (VPP or Linux) and name.
	links map[linkName]linkState
	// hosts are the interfaces of the kernel that exist in the namespace of the agent.
	hosts map[string]bool
	// reasons says why values wait after a plan, by key. Without a plan the status has the reason.
	reasons map[string]string
}

// linkName is the name of an interface of VPP or of Linux.
type linkName struct {
	model, name string
}

// linkState is what VPP or the kernel reports about an interface.
type linkState struct{ admin, link string }

// builder computes the picture.
type builder struct {
	input
	describer describer
	prefixes  []prefix
	nodes     map[string]*node // by ID
	derived   map[string]*node // by the keys of derived values
	keys      []string         // of derived values, sorted
	hostNames map[string]*node // configured interfaces in the namespace of the agent
	taps      map[string]bool  // TAPs of VPP whose other end is an item of Linux
	addresses map[netip.Addr][]*node
	links     map[linkID]*response.Link
	boxes     map[string]response.Box
}

// prefix is the prefix of the keys of a model.
type prefix struct {
	modelKind
	known models.Known
}

// node is a node in the making.
type node struct {
	response.Node
	model  string
	values []value
	parts  []derivedPart
	linked bool
}

// derivedPart is a derived value with what it depends on.
type derivedPart struct {
	key    string
	desc   *api.KVDescriptor
	deps   []api.Dependency
	status *api.ValueStatus // nil: planned, or its item waits
}

type linkID struct{ from, to, kind string }

// draw computes the picture of the whole network.
func draw(in input) response.Network {
	b := &builder{
		input: in, describer: describer{all: slices.Clone(in.descriptors)}, nodes: map[string]*node{}, derived: map[string]*node{}, hostNames: map[string]*node{}, taps: map[string]bool{},
		addresses: map[netip.Addr][]*node{}, links: map[linkID]*response.Link{}, boxes: map[string]response.Box{},
	}
	for _, m := range nodeModels {
		if known, ok := in.models.ForName(m.model); ok {
			b.prefixes = append(b.prefixes, prefix{m, known})
			for _, v := range in.values[m.model] {
				b.addValue(m, known, v)
			}
		}
	}
	for key := range b.derived {
		b.keys = append(b.keys, key)
	}
	slices.Sort(b.keys)
	configured := b.sorted()
	for _, n := range configured {
		b.relate(n)
	}
	for _, m := range linkModels {
		for _, v := range in.values[m.model] {
			b.linkItem(m, v)
		}
	}
	return b.finish()
}

// sorted returns the nodes by ID.
func (b *builder) sorted() (list []*node) {
	for _, n := range b.nodes {
		list = append(list, n)
	}
	slices.SortFunc(list, func(x, y *node) int { return strings.Compare(x.ID, y.ID) })
	return list
}

// nodeID returns the ID of the node of an item. The tables of a VRF are one node; see named.
func nodeID(m modelKind, known models.Known, key string) (id, label string) {
	label = known.Label(key)
	if m.model == vrfTable {
		number, _, _ := strings.Cut(strings.TrimPrefix(label, "id/"), "/")
		return m.model + "/id/" + number, "VRF " + number
	}
	return m.model + "/" + label, label
}

// node returns the node with an ID, which it adds if there is none.
func (b *builder) node(id string, create response.Node) *node {
	n := b.nodes[id]
	if n == nil {
		create.ID = id
		n = &node{Node: create}
		b.nodes[id] = n
	}
	return n
}

// addValue adds an item that is a node.
func (b *builder) addValue(m modelKind, known models.Known, v value) {
	id, label := nodeID(m, known, v.key)
	n := b.node(id, response.Node{Kind: m.kind, Label: label, Box: b.box(v.message)})
	n.model = m.model
	n.values = append(n.values, v)
	item := response.Item{Name: m.model + "/" + known.Label(v.key), Key: v.key}
	if v.status != nil {
		item.State = v.status.GetValue().GetState().String()
	}
	n.Items = append(n.Items, item)
	switch msg := v.message.(type) {
	case *interfaces.Interface:
		n.Type, n.Addresses = msg.GetType().String(), msg.GetIpAddresses()
	case *linuxif.Interface:
		n.Type, n.Addresses = msg.GetType().String(), msg.GetIpAddresses()
		b.taps[msg.GetTap().GetVppTapIfName()] = true
		if msg.GetNamespace().GetReference() == "" {
			b.hostNames[cmp.Or(msg.GetHostIfName(), msg.GetName())] = n
		}
	case *l3.VrfTable:
		if name := msg.GetLabel(); name != "" && n.Label == label {
			n.Label += " " + name
		}
	}
	n.Kind = cmp.Or(typeKinds[n.Type], n.Kind)
	for _, text := range n.Addresses {
		if p, err := netip.ParsePrefix(text); err == nil {
			b.addresses[p.Addr()] = append(b.addresses[p.Addr()], n)
		}
	}
	for _, p := range b.describer.parts(v) {
		n.parts = append(n.parts, p)
		b.derived[p.key] = n
	}
}

// box returns the ID of the box of an item.
func (b *builder) box(msg proto.Message) string {
	box := response.Box{ID: "vpp", Kind: response.BoxVPP, Label: "VPP"}
	if i, ok := msg.(*linuxif.Interface); ok {
		box = namespaceBox(i.GetNamespace())
	}
	b.boxes[box.ID] = box
	return box.ID
}

// namespaceBox returns the box of a network namespace.
func namespaceBox(ns *linuxns.NetNamespace) response.Box {
	box := response.Box{ID: "linux", Kind: response.BoxNamespace, Label: "Linux"}
	ref := ns.GetReference()
	if ref == "" {
		return box
	}
	box.ID += "/" + ns.GetType().String() + "/" + ref
	switch ns.GetType() {
	case linuxns.NetNamespace_MICROSERVICE:
		box.Label = "microservice " + ref
	case linuxns.NetNamespace_PID:
		box.Label = "namespace of process " + ref
	default:
		box.Label = "namespace " + ref
	}
	return box
}

// relate adds the links of a node.
func (b *builder) relate(n *node) {
	for _, v := range n.values {
		for _, dep := range b.describer.dependencies(v.key, v.message) {
			if to := b.target(dep); to != nil && to != n {
				b.link(n, to, kindBetween(n, to), "", valueState(v.status.GetValue()), "")
			}
		}
		b.cables(n, v)
		b.farEnds(n, v, "")
	}
	for _, p := range n.parts {
		b.relatePart(n, p)
	}
}

// relatePart adds the links that a derived value makes.
func (b *builder) relatePart(n *node, p derivedPart) {
	rule, ok := partLinks[p.desc.Name]
	if !ok {
		return
	}
	state := partState(p.status)
	for _, dep := range p.deps {
		to := b.target(dep)
		switch {
		case to == nil || to == n || rule.kind == response.InVRF && to.Kind != response.VRF:
		case rule.ofHub:
			b.link(to, n, rule.kind, p.key, state, b.reason(p.status))
		default:
			b.link(n, to, rule.kind, p.key, state, b.reason(p.status))
		}
	}
	// Membership in VRF 0 needs no table, so it is no dependency.
	if args, ok := ifmodel.VrfKey.Parse(p.key); ok && args[1] == "0" && args[2] != "none" {
		if vrf := b.nodes[vrfTable+"/id/0"]; vrf != nil {
			b.link(n, vrf, rule.kind, p.key, state, b.reason(p.status))
		}
	}
}

// kindBetween returns the kind of the link of an item that depends on another one.
func kindBetween(from, to *node) string {
	switch {
	case (from.model == linuxInterface) != (to.model == linuxInterface), from.Type == vethType && to.Type == vethType:
		return response.Cable
	case partOf[from.Type]:
		return response.SubInterface
	}
	return response.Over
}

// target returns the node that a dependency leads to; nil: none.
func (b *builder) target(dep api.Dependency) *node {
	if dep.Key == "" {
		for _, prefix := range dep.AnyOf.KeyPrefixes {
			if i, _ := slices.BinarySearch(b.keys, prefix); i < len(b.keys) && strings.HasPrefix(b.keys[i], prefix) {
				return b.derived[b.keys[i]]
			}
		}
		return nil
	}
	if n := b.derived[dep.Key]; n != nil {
		return n
	}
	if host, ok := linuxmodel.ParseHostInterfaceKey(dep.Key); ok {
		return b.host(host)
	}
	for _, p := range b.prefixes {
		if p.known.Matches(dep.Key) {
			id, label := nodeID(p.modelKind, p.known, dep.Key)
			n := b.node(id, response.Node{Kind: p.kind, Label: label, Box: b.box(p.known.NewInstance()), MissingItem: p.model + "/" + p.known.Label(dep.Key)})
			n.model = p.model
			return n
		}
	}
	return nil
}

// host returns the node of an interface of the kernel in the namespace of the agent.
func (b *builder) host(name string) *node {
	if n := b.hostNames[name]; n != nil {
		return n
	}
	state := response.Missing
	if b.hosts[name] {
		state = response.Up
	}
	box := b.box(&linuxif.Interface{})
	return b.node("linux "+name, response.Node{Kind: response.HostLink, Label: name, Box: box, State: state})
}

// cables adds the other ends of interfaces that are not items of their own.
func (b *builder) cables(n *node, v value) {
	i, ok := v.message.(*interfaces.Interface)
	if !ok {
		return
	}
	state := valueState(v.status.GetValue())
	if m := i.GetMemif(); m != nil {
		id := strings.TrimSpace(cmp.Or(m.GetSocketFilename(), "default socket"))
		name := "memif " + utoa(m.GetId()) + " of " + id
		b.link(n, b.node(name, response.Node{Kind: response.Memif, Label: name, State: response.Up}), response.Cable, "", state, "")
	}
	if host := i.GetTap().GetHostIfName(); host != "" && i.GetTap().GetToMicroservice() == "" && !b.taps[i.GetName()] {
		b.link(n, b.host(host), response.Cable, "", state, "")
	}
}

// farEnds adds the far ends of tunnels that an item names.
func (b *builder) farEnds(n *node, v value, key string) {
	for _, far := range farAddresses(v.message) {
		to := b.farEnd(far)
		if to != n {
			b.link(n, to, response.Tunnel, key, valueState(v.status.GetValue()), "")
		}
	}
}

// farEnd returns the node of an address: the one interface of this host that has it, or what is
// far away.
func (b *builder) farEnd(text string) *node {
	addr, err := netip.ParseAddr(text)
	if port, portErr := netip.ParseAddrPort(text); portErr == nil {
		addr, err = port.Addr(), nil
	}
	if err == nil {
		if local := b.addresses[addr]; len(local) == 1 {
			return local[0]
		}
		text = addr.String()
	}
	return b.node("far "+text, response.Node{Kind: response.FarEnd, Label: text, State: response.Up})
}

// linkItem adds the link of an item that is one.
func (b *builder) linkItem(m modelKind, v value) {
	state, reason := valueState(v.status.GetValue()), b.reason(v.status.GetValue())
	var ends []*node
	for _, dep := range b.describer.dependencies(v.key, v.message) {
		if to := b.target(dep); to != nil && !slices.Contains(ends, to) {
			ends = append(ends, to)
		}
	}
	if pair, ok := v.message.(*linuxcp.Pair); ok && pair.GetNamespace() == "" {
		ends = append(ends, b.host(pair.GetHostInterface()))
	}
	switch {
	case len(ends) == 0:
	case m.kind == response.Tunnel:
		b.farEnds(ends[0], v, v.key)
	case len(ends) > 1:
		b.link(ends[0], ends[1], m.kind, v.key, state, reason)
	}
}

// link adds a link. Both ends of a cable may name the other one.
func (b *builder) link(from, to *node, kind, key, state, reason string) {
	if kind == response.Cable && from.ID > to.ID {
		from, to = to, from
	}
	from.linked, to.linked = true, true
	id := linkID{from.ID, to.ID, kind}
	l := b.links[id]
	if l == nil {
		l = &response.Link{From: from.ID, To: to.ID, Kind: kind, Key: key, State: state, Reason: reason}
		b.links[id] = l
		return
	}
	if worse(state, l.State) {
		l.State, l.Reason = state, cmp.Or(reason, l.Reason)
	}
}

// finish computes the states and returns the picture.
func (b *builder) finish() response.Network {
	out := response.Network{Boxes: []response.Box{}, Nodes: []response.Node{}, Links: []response.Link{}}
	used := map[string]bool{}
	for _, n := range b.sorted() {
		if !n.linked && len(n.values) > 0 && !slices.ContainsFunc(n.values, func(v value) bool { return !v.found }) {
			continue // VPP has it by itself, and nothing uses it
		}
		b.setState(n)
		used[n.Box] = true
		out.Nodes = append(out.Nodes, n.Node)
	}
	for _, l := range b.links {
		for _, end := range []string{l.From, l.To} {
			if s := b.nodes[end].State; l.State == response.Up && s != response.Up {
				l.State = response.Down
				if s != response.Down {
					l.State = response.Waiting
				}
			}
		}
		out.Links = append(out.Links, *l)
	}
	for id, box := range b.boxes {
		if used[id] {
			out.Boxes = append(out.Boxes, box)
		}
	}
	sortNetwork(&out)
	out.Total = len(out.Nodes)
	return out
}

// sortNetwork gives a picture its order: VPP before Linux, and everything else by ID.
func sortNetwork(n *response.Network) {
	slices.SortFunc(n.Boxes, func(a, b response.Box) int {
		return cmp.Or(-strings.Compare(a.Kind, b.Kind), strings.Compare(a.ID, b.ID))
	})
	slices.SortFunc(n.Nodes, func(a, b response.Node) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(n.Links, func(a, b response.Link) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), strings.Compare(a.Kind, b.Kind))
	})
}

// reason says why a value is in its state.
func (b *builder) reason(s *api.ValueStatus) string {
	if text := b.reasons[s.GetKey()]; text != "" || b.reasons != nil && s.GetState() == kvscheduler.ValueState_PENDING && len(s.GetDetails()) == 0 {
		return text
	}
	return api.Reason(s)
}

// worse reports whether a state is worse than another one.
func worse(a, b string) bool {
	return slices.Index(response.States, a) < slices.Index(response.States, b)
}

// partState returns the state of a derived value; nil: its item does not exist.
func partState(s *api.ValueStatus) string {
	if s == nil {
		return response.Waiting
	}
	return valueState(s)
}

func valueState(s *api.ValueStatus) string {
	switch s.GetState() {
	case kvscheduler.ValueState_FAILED, kvscheduler.ValueState_INVALID, kvscheduler.ValueState_RETRYING,
		kvscheduler.ValueState_MISSING, kvscheduler.ValueState_UNIMPLEMENTED:
		return response.Failed
	case kvscheduler.ValueState_PENDING, kvscheduler.ValueState_NONEXISTENT, kvscheduler.ValueState_REMOVED:
		return response.Waiting
	}
	return response.Up
}

// setState computes the state of a node: the worst state of its items, of its link as VPP or the
// kernel reports it, and of derived values that are not links. A link that is down takes
// precedence over values that wait for it.
func (b *builder) setState(n *node) {
	if len(n.values) == 0 {
		if n.model != "" {
			n.State, n.Reason = response.Missing, "it is not configured"
		}
		return
	}
	n.State = response.Up
	worsen := func(state, reason string) {
		if worse(state, n.State) {
			n.State, n.Reason = state, reason
		}
	}
	for _, v := range n.values {
		worsen(valueState(v.status.GetValue()), b.reason(v.status.GetValue()))
	}
	if n.State == response.Up {
		n.State, n.Reason = b.linkStateOf(n)
	}
	for _, p := range n.parts {
		if _, isLink := partLinks[p.desc.Name]; isLink || p.status == nil {
			continue
		}
		if state := partState(p.status); state == response.Failed || n.State == response.Up {
			worsen(state, p.key+": "+b.reason(p.status))
		}
	}
}

// linkStateOf returns the state of an interface that exists.
func (b *builder) linkStateOf(n *node) (state, reason string) {
	enabled := true
	switch msg := n.values[0].message.(type) {
	case *interfaces.Interface:
		enabled = msg.GetEnabled()
	case *linuxif.Interface:
		enabled = msg.GetEnabled() || msg.GetLinkOnly()
	default:
		return response.Up, ""
	}
	_, name, _ := strings.Cut(n.ID, "/")
	s := b.input.links[linkName{n.model, name}]
	switch {
	case s.admin == "DOWN" && enabled:
		return response.Down, "it is set down"
	case !enabled && s.admin != "UP":
		return response.Down, "it is not enabled"
	case s.link == "DOWN":
		return response.Down, "the link is down"
	}
	return response.Up, ""
}

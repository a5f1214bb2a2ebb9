package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/topology/response"
)

// selection is a part of the network.
type selection struct {
	item     string // MODEL/NAME, a key, the ID of a node, or its label if only one has it; empty: all
	contains string // in the label, an item or an address; upper and lower case are the same
	kind     string // of the nodes; empty: all
	box      string // of the nodes; empty: all
	limit    int    // of nodes, more are grouped; 0: none
}

// all reports whether nothing is left out.
func (s selection) all() bool { return s.item == "" && s.contains == "" && s.kind == "" && s.box == "" }

// takes reports whether a node is asked for.
func (s selection) takes(n response.Node) bool {
	switch {
	case s.kind != "" && n.Kind != s.kind:
		return false
	case s.box == namespaces && (n.Box == "vpp" || n.Box == ""), s.box != "" && s.box != namespaces && n.Box != s.box:
		return false
	}
	return s.contains == "" || hasText(n, strings.ToLower(s.contains))
}

// errNoNode is the error for an item that is no node.
type errNoNode struct{ item, similar string }

func (e errNoNode) Error() string {
	text := fmt.Sprintf("%q: no such part of the network; expected an interface, bridge domain or VRF, as MODEL/NAME", e.item)
	if e.similar != "" {
		text += "; did you mean " + e.similar + "?"
	}
	return text
}

// similarNode returns the item that was probably meant by MODEL/NAME, or by a name.
func similarNode(n response.Network, item string) string {
	names := map[string]string{}
	for _, node := range n.Nodes {
		for _, it := range node.Items {
			if strings.Contains(item, "/") {
				names[it.Name] = it.Name
			} else {
				names[node.Label] = it.Name
			}
		}
	}
	return names[suggest.Nearest(item, slices.Sorted(maps.Keys(names)))]
}

// choose returns the selected part of a network. Its only error is errNoNode.
func choose(n response.Network, s selection) (response.Network, error) {
	center := ""
	if s.item != "" {
		if center = findNode(n, s.item); center == "" {
			return n, errNoNode{s.item, similarNode(n, s.item)}
		}
	}
	if !s.all() {
		n = around(n, center, s)
	}
	if s.limit <= 0 || len(n.Nodes) <= s.limit {
		return n, nil
	}
	var out response.Network
	changes := 0
	for _, node := range n.Nodes {
		if node.Change != "" {
			changes++
		}
	}
	for _, groups := range groupings(n, s, center) {
		for _, node := range n.Nodes {
			if node.Change != "" && changes <= s.limit/2 {
				delete(groups, node.ID) // what a plan changes is shown
			}
		}
		if out = fold(n, groups); len(out.Nodes) <= s.limit {
			break
		}
	}
	return out, nil
}

// findNode returns the ID of the node of an item; empty: none.
func findNode(n response.Network, item string) string {
	labelled, found := 0, ""
	for _, node := range n.Nodes {
		if node.ID == item || slices.ContainsFunc(node.Items, func(i response.Item) bool { return i.Name == item || i.Key == item }) {
			return node.ID
		}
		if node.Label == item {
			labelled, found = labelled+1, node.ID
		}
	}
	if labelled != 1 {
		return ""
	}
	return found
}

// around returns a node, or the nodes that are asked for, with their neighbours. If the nodes alone
// are more than the limit, the neighbours are left out.
func around(n response.Network, center string, s selection) response.Network {
	wanted := map[string]bool{}
	for _, node := range n.Nodes {
		if node.ID == center || center == "" && s.takes(node) {
			wanted[node.ID] = true
		}
	}
	near := map[string]bool{}
	if s.limit <= 0 || len(wanted) < s.limit {
		near = neighbours(n, wanted)
	}
	if center != "" { // the members of a hub with what is behind them
		for id := range neighbours(n, membersOf(n, center)) {
			near[id] = near[id] || !isHub(n, id)
		}
	}
	out := part(n, func(node response.Node) bool { return wanted[node.ID] || near[node.ID] })
	out.Total = len(wanted)
	for i := range out.Nodes {
		out.Nodes[i].Neighbour = !wanted[out.Nodes[i].ID]
	}
	return out
}

// part returns some nodes of a network with their links and boxes.
func part(n response.Network, has func(response.Node) bool) response.Network {
	out := response.Network{Simulated: n.Simulated, SimulatedLinux: n.SimulatedLinux, Boxes: []response.Box{}, Nodes: []response.Node{}, Links: []response.Link{}}
	shown, boxes := map[string]bool{}, map[string]bool{}
	for _, node := range n.Nodes {
		if has(node) {
			shown[node.ID], boxes[node.Box] = true, true
			out.Nodes = append(out.Nodes, node)
		}
	}
	for _, l := range n.Links {
		if shown[l.From] && shown[l.To] {
			out.Links = append(out.Links, l)
		}
	}
	for _, b := range n.Boxes {
		if boxes[b.ID] {
			out.Boxes = append(out.Boxes, b)
		}
	}
	return out
}

func hasText(n response.Node, text string) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	return has(n.Label) || has(n.ID) || slices.ContainsFunc(n.Addresses, has) || slices.ContainsFunc(n.Items, func(i response.Item) bool { return has(i.Name) })
}

// neighbours returns the nodes with a link to one of the given ones.
func neighbours(n response.Network, of map[string]bool) map[string]bool {
	near := map[string]bool{}
	for _, l := range n.Links {
		if of[l.From] {
			near[l.To] = true
		}
		if of[l.To] {
			near[l.From] = true
		}
	}
	return near
}

// membersOf returns the nodes that are in a VRF, bridge domain or bond.
func membersOf(n response.Network, hub string) map[string]bool {
	members := map[string]bool{}
	for _, l := range n.Links {
		if l.To == hub && joins(l) {
			members[l.From] = true
		}
	}
	return members
}

// joins reports whether a link is a membership.
func joins(l response.Link) bool { return l.Kind == response.Member || l.Kind == response.InVRF }

func isHub(n response.Network, id string) bool {
	i, found := slices.BinarySearchFunc(n.Nodes, id, func(node response.Node, id string) int { return strings.Compare(node.ID, id) })
	return found && hubKind(n.Nodes[i].Kind)
}

func hubKind(kind string) bool {
	return kind == response.VRF || kind == response.BridgeDomain || kind == response.Bond
}

// grouping maps the ID of a node to the group that it joins; without an entry it stays a node.
type grouping map[string]group

type group struct{ id, box, hub string }

// groupings returns ways to make a picture smaller, each of them smaller than the one before.
func groupings(n response.Network, s selection, center string) []grouping {
	hubs := hubsOf(n)
	many := n.Boxes
	boxOf := func(box string) string { return box }
	byKind := func(node response.Node) group {
		return group{id: "group " + node.Kind + " " + boxOf(node.Box), box: boxOf(node.Box)}
	}
	if !s.all() {
		return []grouping{surplus(n, center, s.limit, byKind), surplus(n, center, 1, byKind)}
	}
	byHub, all, merged := grouping{}, grouping{}, grouping{}
	for _, node := range n.Nodes {
		all[node.ID] = byKind(node)
		if !hubKind(node.Kind) {
			g := byKind(node)
			g.id += " " + strings.Join(hubs[node.ID], " ")
			if len(hubs[node.ID]) > 0 {
				g.hub = hubs[node.ID][0]
			}
			byHub[node.ID] = g
		}
	}
	boxOf = func(box string) string {
		if i := slices.IndexFunc(many, func(b response.Box) bool { return b.ID == box && b.Kind == response.BoxNamespace }); i >= 0 {
			return namespaces
		}
		return box
	}
	for _, node := range n.Nodes {
		merged[node.ID] = byKind(node)
	}
	return []grouping{byHub, all, merged}
}

// namespaces is the ID of the box of all namespaces.
const namespaces = "namespaces"

// hubsOf returns the hubs that nodes are members of, bridge domains and bonds before VRFs.
func hubsOf(n response.Network) map[string][]string {
	hubs := map[string][]string{}
	for _, kind := range []string{response.Member, response.InVRF} {
		for _, l := range n.Links {
			if l.Kind == kind {
				hubs[l.From] = append(hubs[l.From], l.To)
			}
		}
	}
	return hubs
}

// surplus groups the nodes beyond the limit. Neighbours are grouped before requested nodes, and
// nodes in good states before nodes in bad states.
func surplus(n response.Network, center string, limit int, of func(response.Node) group) grouping {
	order := slices.Clone(n.Nodes)
	slices.SortStableFunc(order, func(a, b response.Node) int {
		rank := func(n response.Node) int {
			switch {
			case n.ID == center:
				return -1
			case n.Neighbour && center == "":
				return len(response.States) + slices.Index(response.States, n.State)
			}
			return slices.Index(response.States, n.State)
		}
		return cmp.Compare(rank(a), rank(b))
	})
	kinds := map[group]bool{}
	for _, node := range order {
		kinds[of(node)] = true
	}
	groups := grouping{}
	for _, node := range order[max(1, limit-len(kinds)):] {
		groups[node.ID] = of(node)
	}
	return groups
}

// fold replaces the nodes of groups by one node for each group. A group of one node is that node.
func fold(n response.Network, groups grouping) response.Network {
	sizes := map[string]int{}
	for _, node := range n.Nodes {
		sizes[groups[node.ID].id]++
	}
	out := response.Network{Total: n.Total, Grouped: true, Simulated: n.Simulated, SimulatedLinux: n.SimulatedLinux, Boxes: []response.Box{}, Nodes: []response.Node{}, Links: []response.Link{}}
	idOf := func(node string) string {
		if g, ok := groups[node]; ok && sizes[g.id] > 1 {
			return g.id
		}
		return node
	}
	folded := map[string]*response.Node{}
	boxes := map[string]bool{}
	for _, node := range n.Nodes {
		id := idOf(node.ID)
		if id == node.ID {
			out.Nodes = append(out.Nodes, node)
			boxes[node.Box] = true
			continue
		}
		g := folded[id]
		if g == nil {
			at := groups[node.ID]
			g = &response.Node{ID: id, Kind: node.Kind, Box: at.box, Hub: at.hub, State: node.State, States: map[string]int{}, Neighbour: true}
			folded[id] = g
			boxes[g.Box] = true
		}
		addTo(g, node)
	}
	for _, g := range folded {
		g.Label = fmt.Sprintf("%d %s", g.Count, plurals[g.Kind])
		out.Nodes = append(out.Nodes, *g)
	}
	out.Links = foldLinks(n.Links, idOf)
	for _, b := range n.Boxes {
		if boxes[b.ID] {
			out.Boxes = append(out.Boxes, b)
		}
	}
	if boxes[namespaces] {
		out.Boxes = append(out.Boxes, response.Box{ID: namespaces, Kind: response.BoxNamespace, Label: "Linux, all namespaces"})
	}
	sortNetwork(&out)
	return out
}

// addTo adds a node to a group.
func addTo(g *response.Node, node response.Node) {
	g.Count++
	g.Members = append(g.Members, node.ID)
	g.States[node.State]++
	if worse(node.State, g.State) {
		g.State = node.State
	}
	g.Neighbour = g.Neighbour && node.Neighbour
	if node.Change != "" {
		if g.Changes == nil {
			g.Changes = map[string]int{}
		}
		g.Changes[node.Change]++
	}
}

// plurals are the names of the kinds of nodes.
var plurals = map[string]string{
	response.Interface: "interfaces", response.Bond: "bonds", response.BridgeDomain: "bridge domains", response.VRF: "VRFs",
	response.FarEnd: "far ends", response.Memif: "memif sockets", response.HostLink: "interfaces of the host",
}

// foldLinks joins the links between the same two nodes; links inside a group are left out.
func foldLinks(links []response.Link, idOf func(string) string) []response.Link {
	joined := map[linkID]*response.Link{}
	for _, l := range links {
		l.From, l.To = idOf(l.From), idOf(l.To)
		if l.From == l.To {
			continue
		}
		id := linkID{l.From, l.To, l.Kind}
		j := joined[id]
		if j == nil {
			l.Count = 1
			joined[id] = &l
			continue
		}
		j.Count++
		j.Key, j.Reason = "", ""
		if worse(l.State, j.State) {
			j.State = l.State
		}
		j.Change = cmp.Or(j.Change, l.Change)
	}
	out := make([]response.Link, 0, len(joined))
	for _, l := range joined {
		if l.Count == 1 {
			l.Count = 0
		}
		out = append(out, *l)
	}
	return out
}

// Package response has the responses of the plugin topology, for the agent and its clients.
package response

// Network is a picture of the network: boxes with nodes, and the links between the nodes. Boxes,
// nodes and links are sorted, so equal networks have equal pictures.
type Network struct {
	// Total is the number of nodes that were asked for. Grouped reports that they are more than the
	// limit, so that some nodes are groups.
	Total   int  `json:"total"`
	Grouped bool `json:"grouped"`
	// Simulated reports that VPP is simulated: it forwards no packets and counts none.
	Simulated bool `json:"simulated,omitempty"`
	// SimulatedLinux reports the same of Linux.
	SimulatedLinux bool   `json:"simulatedLinux,omitempty"`
	Boxes          []Box  `json:"boxes"`
	Nodes          []Node `json:"nodes"`
	Links          []Link `json:"links"`
}

// Simulation says which parts of the network are simulated; empty: none.
func (n *Network) Simulation() string {
	switch {
	case n.Simulated && n.SimulatedLinux:
		return "VPP and Linux are simulated: they forward no packets and have no counters."
	case n.Simulated:
		return "VPP is simulated: it forwards no packets and has no counters."
	case n.SimulatedLinux:
		return "Linux is simulated: it forwards no packets and has no counters."
	}
	return ""
}

// Box is VPP or a network namespace of Linux.
type Box struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"` // BoxVPP or BoxNamespace
	Label string `json:"label"`
}

// The kinds of boxes.
const (
	BoxVPP       = "vpp"
	BoxNamespace = "namespace"
)

// Node is a part of the network, or a group of such parts.
type Node struct {
	// ID of the node of an item is the name of the item, MODEL/NAME; the first one of a VRF.
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Type  string `json:"type,omitempty"` // of an interface, such as TAP
	Label string `json:"label"`
	Box   string `json:"box,omitempty"` // empty: outside of this host
	State string `json:"state"`
	// Reason says why the state is not up; it may be empty.
	Reason string `json:"reason,omitempty"`
	// Items are the items of the configuration. A VRF has one for each protocol, the far end of a
	// tunnel has none.
	Items     []Item   `json:"items,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	// Neighbour reports that the node was not asked for, but is linked to one that was.
	Neighbour bool `json:"neighbour,omitempty"`
	// Count is the number of nodes in a group, and States counts them by state; 0: not a group.
	Count  int            `json:"count,omitempty"`
	States map[string]int `json:"states,omitempty"`
	// MissingItem is the name of the item that something refers to and that is not configured.
	MissingItem string `json:"-"`
	// Members are the IDs of the nodes in a group. Responses do not have them: they can be thousands.
	Members []string `json:"-"`
	// Hub is the node whose members the group has: a VRF, bridge domain or bond; empty: several.
	Hub string `json:"hub,omitempty"`
	// Change is what a plan does with the node; empty: nothing, or there is no plan. Changes counts
	// the changes in a group.
	Change  string         `json:"change,omitempty"`
	Changes map[string]int `json:"changes,omitempty"`
}

// Item is an item of the configuration.
type Item struct {
	Name  string `json:"name"` // MODEL/NAME
	Key   string `json:"key"`
	State string `json:"state"` // of the value, such as CONFIGURED
}

// The kinds of nodes.
const (
	Interface    = "interface"
	Bond         = "bond"
	BridgeDomain = "bridge-domain" // of VPP, or a bridge of Linux
	VRF          = "vrf"
	FarEnd       = "far-end" // of tunnels
	Memif        = "memif"   // the socket and the ID of a shared memory interface
	HostLink     = "host"    // an interface of Linux that is not configured
)

// The states of nodes and links, the worst first.
const (
	Failed  = "failed"
	Missing = "missing" // something refers to it, and it is not configured
	Waiting = "waiting"
	Down    = "down"
	Up      = "up"
)

// States are the states of nodes and links, the worst first.
var States = []string{Failed, Missing, Waiting, Down, Up}

// Link is a relation between two nodes, or several between two groups.
type Link struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Kind   string `json:"kind"`
	Label  string `json:"label,omitempty"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Key is the value that makes the link, if it is not one of the nodes.
	Key    string `json:"key,omitempty"`
	Count  int    `json:"count,omitempty"` // of the links between two groups; 0: one
	Change string `json:"change,omitempty"`
}

// The kinds of links.
const (
	Member       = "member"        // From is a port of the bridge domain or bond To
	InVRF        = "vrf"           // From is in the VRF To
	SubInterface = "sub-interface" // From is a part of To
	Over         = "over"          // From sends its packets through To
	Cable        = "cable"         // two ends of one cable
	Tunnel       = "tunnel"        // To is the far end of From
	Unnumbered   = "unnumbered"    // From borrows the address of To
	CrossConnect = "cross-connect" // what From receives, To sends
	Mirror       = "mirror"        // To sends a copy of the packets of From
)

// The changes of nodes and links by a plan.
const (
	Appears = "appears"
	Changes = "changes"
	Goes    = "goes"
)

// Package netlinkapi is what the Linux plugins know of the kernel: links,
// addresses, routes, neighbours and packet filters of network namespaces, as small data types
// and narrow interfaces. Package kernel beneath it talks to the real kernel;
// package nlsim is a stateful fake of it.
//
// A Handle is bound to one namespace, whatever thread it is used on. Its
// errors can be compared with the sentinels of this package by errors.Is; what
// a dump could not read completely is ErrIncomplete, never an empty result.
package netlinkapi

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
)

// Namespaces opens network namespaces. Its methods may be called concurrently.
type Namespaces interface {
	// Open returns a handle on the namespace that the file at path stands for;
	// the empty path is the namespace of the agent. ErrNamespaceGone if there is
	// no such file or it does not stand for a namespace. The caller closes the
	// handle after the operation at hand: a namespace lives on while a handle on
	// it is open.
	Open(path string) (Handle, error)
	// Create makes a new, empty namespace and mounts it at path, as ip-netns(8)
	// does. ErrExists if there is one already.
	Create(path string) error
	// Named lists the names of the namespaces mounted in a directory; none if
	// there is no such directory.
	Named(dir string) ([]string, error)
}

// NamespaceID distinguishes namespaces: the device and the inode of the files
// that stand for it.
type NamespaceID struct{ Dev, Ino uint64 }

// String returns "net:[<inode>]", as the kernel writes it.
func (id NamespaceID) String() string { return fmt.Sprintf("net:[%d]", id.Ino) }

// Handle is everything that can be done in one namespace. Take the role that
// you use. The methods may be called concurrently.
type Handle interface {
	Links
	LinkMaker
	LinkSetter
	Addresses
	Neighbours
	Routes
	Nexthops
	Rules
	Watcher
	Others
	PacketFilter
	Nftables
	Sysctls
	BridgeVLANs
	Sockets
	// Namespace reports which namespace this is.
	Namespace() NamespaceID
	io.Closer
}

// Link is a network interface as it is in the kernel.
type Link struct {
	Index    int    // unique within its namespace
	Name     string // unique within its namespace
	Alias    string // free text; it marks what belongs to the agent
	Kind     string // "veth", "vrf", "dummy", "tun", ...; empty for hardware and loopback
	Loopback bool
	MTU      int
	MAC      net.HardwareAddr
	Up       bool // administratively up
	Running  bool // can carry packets
	Master   int  // index of the bridge, bond or VRF that it belongs to; 0: none
	Parent   int  // index of the peer of a VETH, or of the link beneath; it may be in another namespace; 0: none
	Queues   LinkQueues
	Params   LinkParams // nil: the kind has none here
	Counters Counters
}

// LinkQueues are the queues that a link was made with.
type LinkQueues struct {
	RX, TX int
	// Length is the number of packets that wait to be sent, at most.
	Length int
}

// Counters are what went through a link since it was made.
type Counters struct {
	RXPackets, TXPackets, RXBytes, TXBytes   uint64
	RXErrors, TXErrors, RXDropped, TXDropped uint64
}

// Links reads links. A link that is not there is ErrNotFound.
type Links interface {
	Links() ([]Link, error)
	LinkByName(name string) (Link, error)
	LinkByIndex(index int) (Link, error)
}

// LinkMaker makes links, which are down at first, and deletes them. A name
// that is taken is ErrExists; deleting a link that is not there is ErrNotFound.
type LinkMaker interface {
	// AddVeth makes a pair of links; deleting one end deletes both.
	AddVeth(name, peer string) error
	// AddLink makes a link. parent is the index of the link beneath it; 0: none. A
	// VRF also lets sockets that are not bound to a VRF accept connections out of it.
	// A kind that this kernel lacks is ErrUnsupported.
	AddLink(name string, p LinkParams, parent int) error
	// ChangeLink changes the parameters of a link of the same kind. Which of them a
	// kernel changes depends on the kind.
	ChangeLink(index int, p LinkParams) error
	DeleteLink(index int) error
	// RunWireGuard makes a link of kind KindWireGuard with the program wireguard-go, which
	// serves it in the background until the link is deleted. A missing program is
	// ErrNoProgram.
	RunWireGuard(program, name string) error
}

// LinkSetter changes one link. ErrNotFound if it is not there, ErrBusy if it
// must be down for the change.
type LinkSetter interface {
	SetUp(index int, up bool) error
	Rename(index int, name string) error
	SetAlias(index int, alias string) error
	SetMTU(index int, mtu int) error
	SetMAC(index int, mac net.HardwareAddr) error
	// SetMaster puts the link into a bridge, bond or VRF; 0 takes it out.
	SetMaster(index, master int) error
	// Move moves the link into another namespace, where it is down, has no
	// addresses, and may have another index. ErrExists if its name is taken
	// there.
	Move(index int, to Handle) error
}

// Address is an IP address of a link.
type Address struct {
	Link   int
	Prefix netip.Prefix
	Scope  Scope
	// Valid is how long the address exists, and Preferred how long new connections use it, in
	// seconds, at most as long; 0: forever, or for Preferred as long as Valid. What is read is what remains, at
	// least 1.
	Valid, Preferred uint32
	// Agent: the agent has added it. Read only of addresses that do not exist forever, and
	// only from kernels since 5.18.
	Agent bool
}

// Addresses reads and changes IP addresses. Adding one that is there is
// ErrExists, deleting one that is not is ErrNotFound.
type Addresses interface {
	Addresses() ([]Address, error)
	// AddAddress also enables IPv6 on the link if the address needs it.
	AddAddress(a Address) error
	// SetAddress is AddAddress, and changes the lifetimes if the address is there.
	SetAddress(a Address) error
	DeleteAddress(a Address) error
}

// Neighbour is the MAC address of a neighbour.
type Neighbour struct {
	Link      int
	IP        netip.Addr
	MAC       net.HardwareAddr
	Permanent bool // configured rather than learned
}

// Neighbours reads and changes ARP and NDP entries.
type Neighbours interface {
	Neighbours() ([]Neighbour, error)
	// AddNeighbour adds a permanent entry, in place of a learned one. ErrExists if there is a
	// permanent one.
	AddNeighbour(n Neighbour) error
	// SetNeighbour adds or replaces a permanent entry.
	SetNeighbour(n Neighbour) error
	// DeleteNeighbour returns ErrNotFound if there is no such entry.
	DeleteNeighbour(n Neighbour) error
}

// Scope is how far a destination or an address reaches; see ip-route(8).
type Scope uint8

// The scopes that the kernel knows by name.
const (
	ScopeGlobal Scope = 0
	ScopeSite   Scope = 200
	ScopeLink   Scope = 253
	ScopeHost   Scope = 254
)

// Protocol says who made a route; see ip-route(8).
type Protocol uint8

// The protocols that matter here.
const (
	ProtocolKernel Protocol = 2
	ProtocolBoot   Protocol = 3
	ProtocolStatic Protocol = 4
	// ProtocolAgent marks the routes of the agent; "ip route" shows it as "proto 116".
	ProtocolAgent Protocol = 116
)

// Static reports whether a route was configured, by the agent or by another process,
// rather than made by the kernel or by a routing protocol.
func (p Protocol) Static() bool { return slices.Contains(StaticProtocols(), p) }

// StaticProtocols lists the protocols of static routes.
func StaticProtocols() []Protocol { return []Protocol{ProtocolAgent, ProtocolStatic, ProtocolBoot} }

// Event is a change in a namespace.
type Event struct {
	Kind   EventKind
	Link   int
	Prefix netip.Prefix // of AddressRemoved, and the destination of RouteRemoved
	IP     netip.Addr   // of NeighbourRemoved
	Table  uint32       // of RouteRemoved
	// Priority is the priority in RuleRemoved.
	Priority uint32
	// Nexthop is the id of NexthopRemoved.
	Nexthop uint32
	// NFTable is the table of TableChanged.
	NFTable NFTable
	// Sysctl is the parameter of SysctlChanged; see Sysctls.
	Sysctl string
}

// EventKind says what an Event is about.
type EventKind uint8

// The kinds of events.
const (
	// LinkChanged: the link or one of its addresses was added, changed or deleted.
	LinkChanged EventKind = iota
	// LinkGone: the link was deleted or left the namespace.
	LinkGone
	// RoutesFlushed: the link was set down or lost an IPv4 address. The kernel removes
	// its IPv4 routes when it goes down, and with its last IPv4 address, and sends no
	// events for them.
	RoutesFlushed
	// AddressRemoved: an address was deleted.
	AddressRemoved
	// RouteRemoved: a static route (see Protocol.Static) was deleted, or another process
	// replaced it: one event for each link of its next hops, or of no link if it has none.
	// There are no events for routes that are added.
	RouteRemoved
	// NeighbourRemoved: a neighbour was deleted.
	NeighbourRemoved
	// RuleRemoved: a policy rule of the agent was deleted.
	RuleRemoved
	// NexthopRemoved: a nexthop object was deleted, or another process added or replaced it.
	NexthopRemoved
	// CarrierLost: the link changed and has no carrier, or is down. The kernel removes its
	// nexthop objects and the routes through them then, and sends no events for them.
	CarrierLost
	// TableChanged: another program than this process and those that it runs changed a table of
	// nftables, which may be one of iptables-nft: "ip filter", "ip6 nat" and so on. There are
	// no events for iptables-legacy, nor without CAP_NET_ADMIN.
	TableChanged
	// SysctlChanged: a parameter of a link was set. The kernel sends events for
	// forwarding, mc_forwarding, rp_filter, proxy_arp, proxy_ndp, bc_forwarding and
	// ignore_routes_with_linkdown alone.
	SysctlChanged
)

// Watcher reports what changes.
type Watcher interface {
	// Watch calls ready once changes are being recorded, and then event for
	// every change, until the context ends (nil) or
	// events were lost or cannot be read (an error): then start again, and read
	// the whole state.
	Watch(ctx context.Context, ready func(), event func(Event)) error
}

// OwnNumber is what Number and WatchOthers call the namespace of the handle itself.
const OwnNumber = -1

// Others reports what happens in other namespaces. Unlike a Watch in one of them it
// does not keep that one alive after its owner has removed it.
type Others interface {
	// Number returns the number by which this namespace knows another one, which
	// is given one if it has none. It is good until the other one ends.
	Number(other Handle) (int, error)
	// WatchOthers calls ready once changes are being recorded, and then event for
	// every change in a namespace that has a number, and when one ends (LinkChanged, of
	// no link), until the context ends (nil) or events were lost or cannot be read (an
	// error): then start again, and read everything.
	WatchOthers(ctx context.Context, ready func(), event func(number int, e Event)) error
}

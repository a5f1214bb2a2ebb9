// Package netlinkapi is what the Linux plugins know of the kernel: links,
// addresses, routes, neighbours and packet filters of network namespaces, as small data types
// and narrow interfaces. Package kernel beneath it talks to the real kernel;
// package nlsim is a stateful fake of it.
//
// A Handle is bound to one namespace, whatever thread it is used on. Its
// errors can be compared with the sentinels of this package by errors.Is; what
// a dump could not read completely is ErrIncomplete, never an empty result.
//
// A call whose context has ended does not ask the kernel, and returns the cause; see Gate. One
// that has begun cannot be canceled, except while it waits for a program, an event or
// another host. What undoes the first steps of a canceled operation uses context.WithoutCancel.
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
	// Equivalent to: `ip netns exec NAME ...`
	Open(path string, gate Gate) (Handle, error)
	// Create makes a new, empty namespace and mounts it at path, as ip-netns(8)
	// does. ErrExists if there is one already.
	// Equivalent to: `ip netns add NAME`
	Create(path string) error
	// Named lists the names of the namespaces mounted in a directory; none if
	// there is no such directory.
	// Equivalent to: `ip netns list`
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
	// Equivalent to: `readlink /proc/self/ns/net`
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
	// Links returns all links.
	// Equivalent to: `ip -details -statistics link show`
	Links(ctx context.Context) ([]Link, error)
	// LinkByName returns the link with a name.
	// Equivalent to: `ip -details link show dev NAME`
	LinkByName(ctx context.Context, name string) (Link, error)
	// LinkByIndex returns the link with an index.
	// Equivalent to: the link with that number in `ip -details link show`
	LinkByIndex(ctx context.Context, index int) (Link, error)
}

// LinkMaker makes links, which are down at first, and deletes them. A name
// that is taken is ErrExists; deleting a link that is not there is ErrNotFound.
type LinkMaker interface {
	// AddVeth makes a pair of links; deleting one end deletes both.
	// Equivalent to: `ip link add NAME type veth peer name PEER`
	AddVeth(ctx context.Context, name, peer string) error
	// AddLink makes a link. parent is the index of the link beneath it; 0: none. A
	// VRF also lets sockets that are not bound to a VRF accept connections out of it.
	// A kind that this kernel lacks is ErrUnsupported.
	// Equivalent to: `ip link add NAME link PARENT type KIND ...`, for a TUN or TAP `ip tuntap add NAME mode tun`
	AddLink(ctx context.Context, name string, p LinkParams, parent int) error
	// ChangeLink changes the parameters of a link of the same kind. Which of them a
	// kernel changes depends on the kind.
	// Equivalent to: `ip link set dev NAME type KIND ...`, for WireGuard `wg setconf NAME FILE`
	ChangeLink(ctx context.Context, index int, p LinkParams) error
	// DeleteLink deletes a link.
	// Equivalent to: `ip link delete dev NAME`
	DeleteLink(ctx context.Context, index int) error
	// RunWireGuard makes a link of kind KindWireGuard with the program wireguard-go, which
	// serves it in the background until the link is deleted. A missing program is
	// ErrNoProgram.
	// Equivalent to: `wireguard-go NAME`
	RunWireGuard(ctx context.Context, program, name string) error
}

// LinkSetter changes one link. ErrNotFound if it is not there, ErrBusy if it
// must be down for the change.
type LinkSetter interface {
	// SetUp sets the link up or down.
	// Equivalent to: `ip link set dev NAME up` or `down`
	SetUp(ctx context.Context, index int, up bool) error
	// Rename changes the name.
	// Equivalent to: `ip link set dev NAME name NEW`
	Rename(ctx context.Context, index int, name string) error
	// SetAlias changes the alias; empty: none.
	// Equivalent to: `ip link set dev NAME alias TEXT`
	SetAlias(ctx context.Context, index int, alias string) error
	// SetMTU changes the MTU, in bytes.
	// Equivalent to: `ip link set dev NAME mtu MTU`
	SetMTU(ctx context.Context, index int, mtu int) error
	// SetMAC changes the MAC address.
	// Equivalent to: `ip link set dev NAME address MAC`
	SetMAC(ctx context.Context, index int, mac net.HardwareAddr) error
	// SetMaster puts the link into a bridge, bond or VRF; 0 takes it out.
	// Equivalent to: `ip link set dev NAME master MASTER` or `nomaster`
	SetMaster(ctx context.Context, index, master int) error
	// Move moves the link into another namespace, where it is down, has no
	// addresses, and may have another index. ErrExists if its name is taken
	// there.
	// Equivalent to: `ip link set dev NAME netns NAMESPACE`
	Move(ctx context.Context, index int, to Handle) error
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
	// Addresses returns the addresses of all links.
	// Equivalent to: `ip address show`
	Addresses(ctx context.Context) ([]Address, error)
	// AddAddress also enables IPv6 on the link if the address needs it.
	// Equivalent to: `ip address add PREFIX broadcast + dev LINK ...`
	AddAddress(ctx context.Context, a Address) error
	// SetAddress is AddAddress, and changes the lifetimes if the address is there.
	// Equivalent to: `ip address replace PREFIX broadcast + dev LINK ...`
	SetAddress(ctx context.Context, a Address) error
	// DeleteAddress deletes an address.
	// Equivalent to: `ip address delete PREFIX dev LINK`
	DeleteAddress(ctx context.Context, a Address) error
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
	// Neighbours returns the entries of all links.
	// Equivalent to: `ip neighbour show nud all`
	Neighbours(ctx context.Context) ([]Neighbour, error)
	// AddNeighbour adds a permanent entry, in place of a learned one. ErrExists if there is a
	// permanent one.
	// Equivalent to: `ip neighbour add IP lladdr MAC nud permanent dev LINK`
	AddNeighbour(ctx context.Context, n Neighbour) error
	// SetNeighbour adds or replaces a permanent entry.
	// Equivalent to: `ip neighbour replace IP lladdr MAC nud permanent dev LINK`
	SetNeighbour(ctx context.Context, n Neighbour) error
	// DeleteNeighbour returns ErrNotFound if there is no such entry.
	// Equivalent to: `ip neighbour delete IP dev LINK`
	DeleteNeighbour(ctx context.Context, n Neighbour) error
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
	// Equivalent to: `ip monitor` and `nft monitor`
	Watch(ctx context.Context, ready func(), event func(Event)) error
}

// OwnNumber is what Number and WatchOthers call the namespace of the handle itself.
const OwnNumber = -1

// Others reports what happens in other namespaces. Unlike a Watch in one of them it
// does not keep that one alive after its owner has removed it.
type Others interface {
	// Number returns the number by which this namespace knows another one, which
	// is given one if it has none. It is good until the other one ends.
	// Equivalent to: `ip netns set NAME auto` and `ip netns list-id`
	Number(ctx context.Context, other Handle) (int, error)
	// WatchOthers calls ready once changes are being recorded, and then event for
	// every change in a namespace that has a number, and when one ends (LinkChanged, of
	// no link), until the context ends (nil) or events were lost or cannot be read (an
	// error): then start again, and read everything.
	// Equivalent to: `ip monitor all-nsid`
	WatchOthers(ctx context.Context, ready func(), event func(number int, e Event)) error
}

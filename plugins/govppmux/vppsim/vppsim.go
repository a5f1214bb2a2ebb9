// Package vppsim is a simulated VPP: a process-internal server that speaks VPP's
// real binary API on a unix socket, keeps the state that the requests build up, and
// refuses what VPP refuses. It stands in for VPP in tests and on machines without
// one; clients need not know.
//
// What it knows are the control-plane effects of the messages with a handler (one
// file per VPP feature in internal/vnet). Requests without one are answered with
// VNET_API_ERROR_UNIMPLEMENTED. It forwards no packets.
//
// It also fails on command: see Forget, Delay, Drop, Mute, Fail, FailAfter, Hang,
// HangAt, Disconnect, Die, Restart.
package vppsim

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cli"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/vnet"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/bfd"
)

// DefaultVersion is the version of the bindings, marked so that it is not mistaken for the
// simulator for the real thing. Any version it reports contains "simulated".
const DefaultVersion = "25.10-simulated"

// ErrUnknownMessage is returned by fault commands that name a message which is not
// in the table.
var ErrUnknownMessage = wire.ErrUnknownMessage

// Options adjust a simulator; the zero value is a VPP 25.10.
type Options struct {
	// Release restricts the message table to one release of VPP: message name to
	// CRC as eight hexadecimal digits. A message that is absent is unknown. Nil
	// means every message of the bindings (VPP 25.10).
	Release map[string]string
	// Version is what show_version reports; DefaultVersion if empty.
	Version string
	// HostInterface says whether a host interface exists, for AF_PACKET. Nil means
	// that every name does. It runs while requests are being handled.
	HostInterface func(name string) bool
	// HostMTU gives a host interface the MTU, in bytes, that VPP chooses when the MTU of its AF_PACKET
	// interface is set, and reports whether it did. Nil means that no host interface has an MTU. It runs
	// while requests are being handled.
	HostMTU func(name string, mtu uint32) bool
	// HostTAP creates the host side of a TAP in the namespace of VPP, and returns
	// the function that removes it. Nil means that TAPs have no host side. An error
	// refuses the TAP. It runs while requests are being handled.
	HostTAP func(name string) (remove func(), err error)
	// PCIDevice says whether there is a device at an address on the PCI bus, in the
	// form that VPP has it. Nil means that there is one at every address.
	PCIDevice func(address uint32) bool
	// Devices are the names of the network cards that VPP finds when it starts, such as
	// "GigabitEthernet0/8/0".
	Devices []string
	// JournalSize is how many requests the journal keeps; 0 means none.
	JournalSize int
	// Now is the clock that show_vpe_system_time reads; time.Now if nil.
	Now func() time.Time
}

// VPP is one simulated VPP. Its methods may be called by any goroutine, but not
// from handlers.
type VPP struct {
	server *wire.Server
	net    *vnet.VNet
	pid    atomic.Uint32
}

// Call is one request being handled; see Handle.
type Call = wire.Call

// Record is one request in the journal.
type Record = wire.Record

// New returns a VPP that has just started, without listeners.
func New(opts Options) *VPP {
	if opts.Version == "" {
		opts.Version = DefaultVersion
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	v := &VPP{}
	v.pid.Store(uint32(os.Getpid()))
	v.server = wire.New(wire.Config{
		Release:      opts.Release,
		JournalSize:  opts.JournalSize,
		OnDisconnect: func(client uint32) { v.net.ClientGone(client) },
		AfterRequest: func() { v.net.AfterRequest() },
	})
	v.net = vnet.New(v.server, vnet.Config{
		Version:       opts.Version,
		PID:           v.pid.Load,
		Now:           opts.Now,
		HostInterface: opts.HostInterface,
		HostMTU:       opts.HostMTU,
		HostTAP:       opts.HostTAP,
		PCIDevice:     opts.PCIDevice,
		Devices:       opts.Devices,
	})
	cli.Register(v.server, v.net, opts.Version)
	return v
}

// Serve accepts clients from a listener in the background until Close, which closes
// the listener.
func (v *VPP) Serve(ln net.Listener) error { return v.server.Serve(ln) }

// ListenUnix serves on a unix socket in the background until Close. A socket file
// left behind by a dead process is replaced; one that is answered is an error.
func (v *VPP) ListenUnix(path string) error { return v.server.ListenUnix(path) }

// Close disconnects all clients, removes the sockets and waits for everything the
// simulator started.
func (v *VPP) Close() error { return v.server.Close() }

// PID returns the process ID that the simulator reports; Restart changes it.
func (v *VPP) PID() uint32 { return v.pid.Load() }

// Clients returns the client indexes of the connected clients.
func (v *VPP) Clients() []uint32 { return v.server.Clients() }

// Messages returns the names of the known messages, sorted.
func (v *VPP) Messages() []string { return v.server.Messages() }

// Journal returns the last requests, oldest first; see Options.JournalSize.
func (v *VPP) Journal() []Record { return v.server.Journal() }

// Counts returns how many requests of each name have arrived, those refused by
// fault commands included.
func (v *VPP) Counts() map[string]uint64 { return v.server.Counts() }

// Count returns how many requests of one name have arrived.
func (v *VPP) Count(name string) uint64 { return v.server.Counts()[name] }

// Dump returns the whole state as text: the same state gives the same text, empty
// sections are left out, so two dumps can be compared in a test.
func (v *VPP) Dump() string {
	var text string
	v.server.Locked(func() { text = v.net.Dump() })
	return text
}

// Crashes returns the requests so far that would have crashed VPP. The simulator refuses them.
func (v *VPP) Crashes() []string {
	var crashes []string
	v.server.Locked(func() { crashes = slices.Clone(v.net.Crashes()) })
	return crashes
}

// BFDState gives the BFD session with a peer a state, as the peer would.
func (v *VPP) BFDState(swIfIndex uint32, peer netip.Addr, state bfd.BfdState) error {
	var err error
	v.server.Locked(func() { err = v.net.BFDState(swIfIndex, peer, state) })
	return err
}

// IKEv2Peer makes a security association with the peer of an IKEv2 profile, as the peer
// would, or removes the associations of the profile.
func (v *VPP) IKEv2Peer(profile string, up bool) error {
	var err error
	v.server.Locked(func() { err = v.net.IKEv2Peer(profile, up) })
	return err
}

// Lease makes the DHCP client of an interface, by sw_if_index, obtain an address,
// as a server would; the router may be missing. The invalid Prefix makes it lose
// the one it has, which VPP does not report.
func (v *VPP) Lease(swIfIndex uint32, address netip.Prefix, router netip.Addr) error {
	var err error
	v.server.Locked(func() {
		err = v.net.Lease(swIfIndex, address, router)
		v.net.AfterRequest()
	})
	return err
}

// Handle replaces the handler of a request, or adds one for a message that the
// simulator does not know. Handlers run one at a time, as everything on VPP's main
// thread; the request is valid until the handler returns; nil means no reply.
func Handle[Q, R any, PQ wire.MessageOf[Q], PR wire.MessageOf[R]](v *VPP, handler func(*Call, PQ) PR) {
	wire.Handle(v.server, handler)
}

// HandleDump is Handle for dump requests: the handler sends any number of records
// with Call.Send.
func HandleDump[Q any, PQ wire.MessageOf[Q]](v *VPP, handler func(*Call, PQ)) {
	wire.HandleDump(v.server, handler)
}

// SendEvent sends an event to one connected client (see Clients).
func (v *VPP) SendEvent(client uint32, event EventMessage) {
	v.server.Locked(func() { v.server.SendEvent(client, event) })
}

// EventMessage is a generated event message.
type EventMessage interface {
	api.Message
	Size() int
	Marshal([]byte) ([]byte, error)
	Unmarshal([]byte) error
}

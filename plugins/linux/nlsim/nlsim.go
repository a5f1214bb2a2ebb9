// Package nlsim is a fake of the Linux kernel's network configuration, for tests
// and for simulated agents: it keeps state, refuses what the kernel refuses, and
// prints itself.
// The same conformance suite (package nltest) runs on it and on the kernel.
package nlsim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// Kernel is a fake kernel. All methods may be called concurrently.
type Kernel struct {
	mu      sync.Mutex
	spaces  map[string]*space // by path; several paths may mean one namespace
	lastID  uint64
	lastTAP uint64 // id of the TAP that was added last
	faults  []*fault
	skip    map[string]int // calls that no fault hits, by operation
	calls   map[string]int
	opened  map[string]int // calls of Open, by path
	unpriv  bool
	budget  int             // changes that still work; below 0: no limit
	crashed func()          // see CrashAfter
	ports   map[port]string // that sockets listen on, to the addresses of real ones
}

var _ netlinkapi.Namespaces = (*Kernel)(nil)

// space is one network namespace.
type space struct {
	id        netlinkapi.NamespaceID
	links     map[int]*link
	addrs     []netlinkapi.Address
	ends      map[addressOf]addressEnd // of addresses with a lifetime
	routes    []netlinkapi.Route
	neighs    []netlinkapi.Neighbour
	rules     []netlinkapi.Rule // but those that the kernel makes
	nexthops  []netlinkapi.Nexthop
	filters   map[netlinkapi.FilterTable]filterTable // those that were changed
	nftables  map[netlinkapi.NFTable]string          // content as it is printed
	sysctls   map[string]int                         // parameters of the namespace that were changed
	lastIndex int
	watchers  map[*watcher[netlinkapi.Event]]struct{}
	outlooks  map[*watcher[outlook]]struct{} // that watch other namespaces from here
	numbers   int                            // given to other namespaces
	numberIn  map[*space]int                 // of this one in others
}

type link struct {
	netlinkapi.Link
	ns       *space
	peer     *link  // the other end of a veth pair
	ownMAC   bool   // the MAC address was set
	tap      uint64 // id of AddTAP; 0: not a TAP
	parent   *link
	children []*link                        // links on this one, in any namespace
	sysctls  map[string]int                 // that were changed
	vlans    map[uint16]netlinkapi.PortVLAN // of bridges and their ports
	origin   *space                         // that AddLink made it in; nil: made otherwise
	released *netlinkapi.Link               // what a port of a bond has when it leaves; nil: it is none
	mtuSet   bool                           // the MTU of a bridge was set: it no longer follows the ports
}

type fault struct {
	op    string
	err   error
	times int
	after bool
}

// New returns a kernel with the namespace of the agent, which has a loopback.
func New() *Kernel {
	k := &Kernel{spaces: map[string]*space{}, calls: map[string]int{}, opened: map[string]int{}, skip: map[string]int{}, ports: map[port]string{}, budget: -1}
	k.spaces[""] = k.newSpace()
	return k
}

func (k *Kernel) newSpace() *space {
	k.lastID++
	ns := &space{
		id:       netlinkapi.NamespaceID{Dev: 4, Ino: 0xf0000000 + k.lastID},
		links:    map[int]*link{},
		watchers: map[*watcher[netlinkapi.Event]]struct{}{},
		outlooks: map[*watcher[outlook]]struct{}{},
		numberIn: map[*space]int{},
		ends:     map[addressOf]addressEnd{},
		filters:  map[netlinkapi.FilterTable]filterTable{},
		nftables: map[netlinkapi.NFTable]string{},
	}
	ns.add(netlinkapi.Link{Name: "lo", Loopback: true, MTU: 65536})
	return ns
}

// AddNamespace adds an empty namespace that path stands for, as if another process
// else had made it.
func (k *Kernel) AddNamespace(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spaces[path] = k.newSpace()
}

// RemoveNamespace deletes a namespace with everything in it; an end of a veth
// pair in it takes the other end along.
func (k *Kernel) RemoveNamespace(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	ns := k.spaces[path]
	if ns == nil {
		return
	}
	maps.DeleteFunc(k.spaces, func(_ string, other *space) bool { return other == ns })
	for _, l := range ns.sorted() {
		if !l.Loopback {
			l.remove()
		}
	}
	ns.tellOthers(netlinkapi.Event{})
}

// AddDevice adds a hardware link to the agent's namespace and returns its
// index.
func (k *Kernel) AddDevice(name string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.spaces[""].add(netlinkapi.Link{Name: name, MTU: 1500, MAC: mac(uint64(len(name)))}).Index
}

// AddCard adds a network card with a cable to the agent's namespace: a link that is up.
func (k *Kernel) AddCard(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	own := k.spaces[""]
	own.add(netlinkapi.Link{Name: name, MTU: 1500, MAC: mac(uint64(len(own.links)) << 8), Up: true, Running: true})
}

// AddTAP adds the Linux side of a TAP to the agent's namespace, up, as the driver
// of the TAP does. The link keeps its id when it is renamed or moved.
func (k *Kernel) AddTAP(name string) (id uint64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	own := k.spaces[""]
	if err := own.checkName(name); err != nil {
		return 0, fmt.Errorf("TAP %q: %w", name, err)
	}
	k.lastTAP++
	l := own.add(netlinkapi.Link{Name: name, Kind: "tun", MTU: 1500, Up: true, Running: true})
	l.tap = k.lastTAP
	return l.tap, nil
}

// RemoveTAP removes the Linux side of a TAP, whatever its name and namespace are
// now. A TAP that does not exist is no error.
func (k *Kernel) RemoveTAP(id uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, ns := range k.spaces {
		for _, l := range ns.links {
			if l.tap == id && id != 0 {
				l.remove()
				return
			}
		}
	}
}

// HasLink returns whether the agent's namespace has a link with the name.
func (k *Kernel) HasLink(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.spaces[""].byName(name) != nil
}

// RemoveDevice takes a link out of the agent's namespace, as its driver would.
func (k *Kernel) RemoveDevice(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l := k.spaces[""].byName(name); l != nil {
		l.remove()
	}
}

// Fail makes the next calls of an operation (a method of netlinkapi, "AddVeth")
// return the error without any effect.
func (k *Kernel) Fail(op string, err error, times int) { k.addFault(&fault{op, err, times, false}) }

// FailAfter is Fail, but the operation has its effect before it returns the
// error.
func (k *Kernel) FailAfter(op string, err error, times int) { k.addFault(&fault{op, err, times, true}) }

// Heal ends all faults.
func (k *Kernel) Heal() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.faults = nil
	clear(k.skip)
}

// Skip makes the next calls of an operation work before its faults begin.
func (k *Kernel) Skip(op string, times int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.skip[op] = times
}

func (k *Kernel) addFault(f *fault) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.faults = append(k.faults, f)
}

// DropPrivileges makes every change fail as it does without CAP_NET_ADMIN.
func (k *Kernel) DropPrivileges() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unpriv = true
}

// ErrCrashed is what operations return after the crash of CrashAfter.
var ErrCrashed = errors.New("crashed")

// CrashAfter makes everything fail, reading too, once so many more changes
// have been made, as if the process had been killed then; a negative number
// ends that. The first call that fails calls crashed before, which must not use the
// kernel; nil: nothing.
func (k *Kernel) CrashAfter(changes int, crashed func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.budget, k.crashed = changes, crashed
}

// Crashed reports whether the crash of CrashAfter has come.
func (k *Kernel) Crashed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.budget == 0
}

// Calls returns how often an operation was called.
func (k *Kernel) Calls(op string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls[op]
}

// Opened returns how often the namespace at path was opened.
func (k *Kernel) Opened(path string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.opened[path]
}

// read runs f as an operation that changes nothing.
func (k *Kernel) read(op string, f func() error) error { return k.call(op, false, f) }

// change runs f as an operation that needs privileges.
func (k *Kernel) change(op string, f func() error) error { return k.call(op, true, f) }

func (k *Kernel) call(op string, privileged bool, f func() error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls[op]++
	if privileged && k.unpriv {
		return fmt.Errorf("%s: %w (needs CAP_NET_ADMIN)", op, netlinkapi.ErrPermission)
	}
	if k.budget == 0 {
		if k.crashed != nil {
			k.crashed()
			k.crashed = nil
		}
		return ErrCrashed
	}
	if privileged && k.budget > 0 {
		k.budget--
	}
	if k.skip[op] > 0 {
		k.skip[op]--
		return wrap(op, f())
	}
	for _, ft := range k.faults {
		if ft.op != op || ft.times == 0 {
			continue
		}
		ft.times--
		if ft.after {
			_ = f() // the caller is notified of the fault, whatever happened
		}
		return fmt.Errorf("%s: %w", op, ft.err)
	}
	return wrap(op, f())
}

func wrap(op string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// Others returns the kernel as other programs than the agent have it.
func (k *Kernel) Others() netlinkapi.Namespaces { return others{k} }

type others struct{ *Kernel }

// Open is Kernel.Open for another program.
func (o others) Open(path string, gate netlinkapi.Gate) (netlinkapi.Handle, error) {
	h, err := o.Kernel.Open(path, gate)
	if err == nil {
		h.(*handle).foreign = true
	}
	return h, err
}

// Open returns a handle on the namespace at path.
func (k *Kernel) Open(path string, gate netlinkapi.Gate) (netlinkapi.Handle, error) {
	var h *handle
	err := k.read("Open", func() error {
		k.opened[path]++
		ns := k.spaces[path]
		if ns == nil {
			return fmt.Errorf("%s: %w", path, netlinkapi.ErrNamespaceGone)
		}
		l := &lease{k, ns, gate}
		h = &handle{lease: l, sockets: sockets{l}, nexthops: nexthops{l}}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Create makes a namespace at path.
func (k *Kernel) Create(path string) error {
	return k.change("Create", func() error {
		if k.spaces[path] != nil {
			return netlinkapi.ErrExists
		}
		k.spaces[path] = k.newSpace()
		return nil
	})
}

// Named lists the names of the namespaces in a directory.
func (k *Kernel) Named(dir string) (names []string, err error) {
	err = k.read("Named", func() error {
		for _, path := range slices.Sorted(maps.Keys(k.spaces)) {
			if filepath.Dir(path) == dir {
				names = append(names, filepath.Base(path))
			}
		}
		return nil
	})
	return names, err
}

// Run waits for the end of the context; nothing expires here.
func (k *Kernel) Run(ctx context.Context) { <-ctx.Done() }

// Forget does nothing; namespaces end when they are removed.
func (k *Kernel) Forget() {}

// Close does nothing.
func (k *Kernel) Close() error { return nil }

// String lists the state: a line per namespace, link, address, route,
// neighbour and line of a packet filter, in a stable order.
func (k *Kernel) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(k.spaces)) {
		fmt.Fprintf(&b, "namespace %q\n", path)
		k.spaces[path].printGlobals(&b)
		k.spaces[path].print(&b)
		k.spaces[path].printFilters(&b)
		k.spaces[path].printNFTables(&b)
	}
	return b.String()
}

// printGlobals prints what belongs to no link.
func (ns *space) printGlobals(b *strings.Builder) {
	for _, r := range ns.rules {
		fmt.Fprintf(b, "  rule %+v\n", r)
	}
	for _, n := range ns.nexthops {
		fmt.Fprintf(b, "  nexthop %d ipv6=%t blackhole=%t members=%+v protocol=%d %s\n", n.ID, n.IPv6, n.Blackhole, n.Members, n.Protocol, ns.hopText(n.NextHop))
	}
	for _, r := range ns.routes {
		if r.Link == 0 {
			fmt.Fprintf(b, "  route %s\n", ns.routeText(r))
		}
	}
}

func (ns *space) print(b *strings.Builder) {
	for _, l := range ns.sorted() {
		fmt.Fprintf(b, "  link %s alias=%q kind=%q up=%t mtu=%d mac=%s", l.Name, l.Alias, l.Kind, l.Up, l.MTU, l.MAC)
		if l.Params != nil {
			fmt.Fprintf(b, " params=%+v", l.Params)
		}
		if m := ns.links[l.Master]; m != nil {
			fmt.Fprintf(b, " master=%s", m.Name)
		}
		if len(l.vlans) > 0 {
			fmt.Fprintf(b, " vlans=%v", l.sortedVLANs())
		}
		for _, name := range l.sysctlNames() {
			fmt.Fprintf(b, " %s=%d", name, l.sysctls[name])
		}
		b.WriteString("\n")
		for _, a := range ns.addrs {
			if a.Link == l.Index {
				fmt.Fprintf(b, "    address %s\n", a.Prefix)
			}
		}
		for _, r := range ns.routes {
			if r.Link == l.Index {
				fmt.Fprintf(b, "    route %s\n", ns.routeText(r))
			}
		}
		for _, n := range ns.neighs {
			if n.Link == l.Index {
				fmt.Fprintf(b, "    neighbour %s %s\n", n.IP, n.MAC)
			}
		}
	}
}

// routeText prints a route, with the names of its links.
func (ns *space) routeText(r netlinkapi.Route) string {
	var hops strings.Builder
	for _, h := range r.Hops() {
		fmt.Fprintf(&hops, " [%s]", ns.hopText(h))
	}
	return fmt.Sprintf("%s type=%d scope=%d metric=%d protocol=%d table=%d source=%s mtu=%d advmss=%d nexthop=%d%s",
		r.Dst, r.Type, r.Scope, r.Metric, r.Protocol, r.Table, r.Source, r.MTU, r.AdvMSS, r.Nexthop, hops.String())
}

// hopText prints a next hop, with the name of its link.
func (ns *space) hopText(h netlinkapi.NextHop) string {
	name := "-"
	if l := ns.links[h.Link]; l != nil {
		name = l.Name
	}
	return fmt.Sprintf("link=%s gateway=%s onlink=%t labels=%s weight=%d", name, h.Gateway, h.OnLink, h.Labels, h.Weight)
}

func (ns *space) sorted() []*link {
	links := slices.Collect(maps.Values(ns.links))
	slices.SortFunc(links, func(a, b *link) int { return a.Index - b.Index })
	return links
}

package nlsim

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

const maxName = 15 // IFNAMSIZ - 1

func mac(n uint64) net.HardwareAddr {
	return net.HardwareAddr{0x02, 0xfe, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
}

// add puts a new link into the namespace.
func (ns *space) add(l netlinkapi.Link) *link {
	ns.lastIndex++
	l.Index = ns.lastIndex
	if l.MAC == nil && !l.Loopback {
		l.MAC = mac(ns.id.Ino<<16 | uint64(l.Index))
	}
	nl := &link{Link: l, ns: ns}
	ns.links[l.Index] = nl
	ns.notify(netlinkapi.Event{Link: l.Index})
	return nl
}

// detach takes the link out of its namespace with all that stands on it.
func (l *link) detach() {
	ns := l.ns
	delete(ns.links, l.Index)
	ns.links[l.Master].adjustMTU()
	ns.addrs = slices.DeleteFunc(ns.addrs, func(a netlinkapi.Address) bool { return a.Link == l.Index })
	maps.DeleteFunc(ns.ends, func(of addressOf, _ addressEnd) bool { return of.link == l.Index })
	ns.routes = slices.DeleteFunc(ns.routes, func(r netlinkapi.Route) bool { return r.Uses(l.Index) })
	ns.neighs = slices.DeleteFunc(ns.neighs, func(n netlinkapi.Neighbour) bool { return n.Link == l.Index })
	ns.removeNexthops(func(n netlinkapi.Nexthop) bool { return n.Link == l.Index }, false)
	for _, other := range ns.links {
		if other.Master == l.Index {
			other.leaveMaster()
		}
	}
	ns.notify(netlinkapi.Event{Kind: netlinkapi.LinkGone, Link: l.Index})
}

func (l *link) remove() {
	l.detach()
	l.removeRelatives()
}

// refresh recomputes what follows from the administrative states of the link
// and its peer.
func (l *link) refresh() {
	running := l.Up && (l.peer == nil || l.peer.Up)
	if running != l.Running {
		l.Running = running
	}
	l.ns.notify(netlinkapi.Event{Link: l.Index})
	l.carrier()
	if p := l.peer; p != nil {
		if r := p.Up && l.Up; r != p.Running {
			p.Running = r
			p.ns.notify(netlinkapi.Event{Link: p.Index})
			p.carrier()
		}
	}
}

func (ns *space) byName(name string) *link {
	for _, l := range ns.links {
		if l.Name == name {
			return l
		}
	}
	return nil
}

func (ns *space) checkName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("name %q: invalid argument", name)
	}
	if ns.byName(name) != nil {
		return netlinkapi.ErrExists
	}
	return nil
}

// handle is the namespace as one user sees it.
type handle struct {
	*lease
	sockets
	nexthops
	foreign bool // another program has it
}

// lease is the use of a namespace by one handle.
type lease struct {
	k    *Kernel
	ns   *space
	gate netlinkapi.Gate
}

// read is Kernel.read for a method of a handle.
func (l *lease) read(ctx context.Context, op string, f func() error) error {
	return l.gate.Pass(ctx, func() error { return l.k.read(op, f) })
}

// change is Kernel.change for a method of a handle.
func (l *lease) change(ctx context.Context, op string, f func() error) error {
	return l.gate.Pass(ctx, func() error { return l.k.change(op, f) })
}

func (h *handle) Close() error                      { return nil }
func (h *handle) Namespace() netlinkapi.NamespaceID { return h.ns.id }

func (h *handle) Links(ctx context.Context) (links []netlinkapi.Link, err error) {
	err = h.read(ctx, "Links", func() error {
		for _, l := range h.ns.sorted() {
			links = append(links, l.read())
		}
		return nil
	})
	return links, err
}

func (h *handle) LinkByName(ctx context.Context, name string) (found netlinkapi.Link, err error) {
	err = h.read(ctx, "LinkByName", func() error {
		l := h.ns.byName(name)
		if l == nil {
			return fmt.Errorf("%q: %w", name, netlinkapi.ErrNotFound)
		}
		found = l.read()
		return nil
	})
	return found, err
}

func (h *handle) LinkByIndex(ctx context.Context, index int) (found netlinkapi.Link, err error) {
	err = h.read(ctx, "LinkByIndex", func() error {
		if index == 0 {
			return errInvalid
		}
		return h.with(index, func(l *link) error { found = l.read(); return nil })
	})
	return found, err
}

// read returns the link as the kernel prints it.
func (l *link) read() netlinkapi.Link {
	out := l.Link
	for _, beneath := range []*link{l.peer, l.parent} {
		if beneath != nil {
			out.Parent = beneath.Index
		}
	}
	out.Queues = netlinkapi.LinkQueues{RX: 1, TX: 1, Length: 1000}
	return out
}

func (h *handle) with(index int, f func(*link) error) error {
	l := h.ns.links[index]
	if l == nil {
		return fmt.Errorf("index %d: %w", index, netlinkapi.ErrNotFound)
	}
	return f(l)
}

func (h *handle) AddVeth(ctx context.Context, name, peer string) error {
	return h.change(ctx, "AddVeth", func() error {
		for _, n := range []string{name, peer} {
			if err := h.ns.checkName(n); err != nil {
				return err
			}
		}
		b := h.ns.add(netlinkapi.Link{Name: peer, Kind: netlinkapi.KindVeth, MTU: 1500})
		a := h.ns.add(netlinkapi.Link{Name: name, Kind: netlinkapi.KindVeth, MTU: 1500})
		a.peer, b.peer = b, a
		return nil
	})
}

func (h *handle) DeleteLink(ctx context.Context, index int) error {
	return h.change(ctx, "DeleteLink", func() error {
		return h.with(index, func(l *link) error {
			if l.Loopback || l.Kind == "" {
				return netlinkapi.ErrUnsupported
			}
			l.remove()
			return nil
		})
	})
}

func (h *handle) set(ctx context.Context, op string, index int, f func(*link) error) error {
	return h.change(ctx, op, func() error {
		return h.with(index, func(l *link) error {
			if err := f(l); err != nil {
				return err
			}
			l.ns.notify(netlinkapi.Event{Link: l.Index})
			return nil
		})
	})
}

func (h *handle) SetUp(ctx context.Context, index int, up bool) error {
	return h.set(ctx, "SetUp", index, func(l *link) error {
		if l.Up == up {
			return nil
		}
		l.Up = up
		l.refresh()
		if up {
			l.linkUp()
		} else {
			l.linkDown()
		}
		return nil
	})
}

func (h *handle) Rename(ctx context.Context, index int, name string) error {
	return h.set(ctx, "Rename", index, func(l *link) error {
		if l.Name == name {
			return nil
		}
		if err := l.ns.checkName(name); err != nil {
			return err
		}
		l.Name = name
		return nil
	})
}

func (h *handle) SetAlias(ctx context.Context, index int, alias string) error {
	return h.set(ctx, "SetAlias", index, func(l *link) error {
		if len(alias) >= 256 {
			return fmt.Errorf("alias of %d bytes: invalid argument", len(alias))
		}
		l.Alias = alias
		return nil
	})
}

func (h *handle) SetMTU(ctx context.Context, index, mtu int) error {
	return h.set(ctx, "SetMTU", index, func(l *link) error {
		if mtu < 68 || mtu > 65575 || l.parent != nil && l.parent.takesAlong(l) && mtu > l.parent.MTU-l.overhead() {
			return fmt.Errorf("MTU %d: invalid argument", mtu)
		}
		l.mtuSet = true
		l.setMTU(mtu)
		return nil
	})
}

func (h *handle) SetMAC(ctx context.Context, index int, mac net.HardwareAddr) error {
	return h.set(ctx, "SetMAC", index, func(l *link) error {
		if len(mac) != 6 || mac[0]&1 != 0 {
			return fmt.Errorf("MAC address %s: invalid argument", mac)
		}
		l.ownMAC = true
		l.setMAC(mac)
		return nil
	})
}

func (h *handle) Move(ctx context.Context, index int, to netlinkapi.Handle) error {
	return h.change(ctx, "Move", func() error {
		target := to.(*handle).ns
		return h.with(index, func(l *link) error {
			if target == l.ns {
				return nil
			}
			if err := l.bound(); err != nil {
				return err
			}
			if target.byName(l.Name) != nil {
				return netlinkapi.ErrExists
			}
			l.Up = false
			l.refresh()
			l.leaveMaster()
			l.detach()
			moved := target.add(l.Link)
			moved.Master = 0
			moved.inherit(l)
			return nil
		})
	})
}

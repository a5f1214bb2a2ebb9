package netlinkapi

import (
	"context"
	"net"
	"slices"
)

// Checked returns a handle for one operation, which calls check before each request to the
// kernel. If check returns an error, the kernel is not asked and the call returns the
// error. A request that has begun cannot be canceled. explain may replace errors of the kernel, but
// not errors of sockets; nil: they are returned as they are.
func Checked(h Handle, check func() error, explain func(error) error) Handle {
	if explain == nil {
		explain = func(err error) error { return err }
	}
	return &checked{h, check, explain}
}

// Unchecked returns the handle that was given to Checked, to undo the first steps of an
// operation that is canceled.
func Unchecked(h Handle) Handle {
	if c, ok := h.(*checked); ok {
		return c.Handle
	}
	return h
}

type checked struct {
	Handle
	check   func() error
	explain func(error) error
}

func (c *checked) do(f func() error) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := f(); err != nil {
		return c.explain(err)
	}
	return nil
}

// doAll is do for n changes.
func (c *checked) doAll(n int, f func() []error) []error {
	if err := c.check(); err != nil {
		return slices.Repeat([]error{err}, n)
	}
	errs := f()
	for i, err := range errs {
		if err != nil {
			errs[i] = c.explain(err)
		}
	}
	return errs
}

func read[T any](c *checked, f func() (T, error)) (T, error) {
	result, err := open(c, f)
	if err != nil {
		err = c.explain(err)
	}
	return result, err
}

// open is read for sockets, whose permissions may change: errors are not explained.
func open[T any](c *checked, f func() (T, error)) (T, error) {
	if err := c.check(); err != nil {
		var none T
		return none, err
	}
	return f()
}

// Links implements Links.
func (c *checked) Links() ([]Link, error) { return read(c, c.Handle.Links) }

// LinkByName implements Links.
func (c *checked) LinkByName(name string) (Link, error) {
	return read(c, func() (Link, error) { return c.Handle.LinkByName(name) })
}

// LinkByIndex implements Links.
func (c *checked) LinkByIndex(index int) (Link, error) {
	return read(c, func() (Link, error) { return c.Handle.LinkByIndex(index) })
}

// AddVeth implements LinkMaker.
func (c *checked) AddVeth(name, peer string) error {
	return c.do(func() error { return c.Handle.AddVeth(name, peer) })
}

// AddLink implements LinkMaker.
func (c *checked) AddLink(name string, p LinkParams, parent int) error {
	return c.do(func() error { return c.Handle.AddLink(name, p, parent) })
}

// RunWireGuard implements LinkMaker.
func (c *checked) RunWireGuard(program, name string) error {
	return c.do(func() error { return c.Handle.RunWireGuard(program, name) })
}

// ChangeLink implements LinkMaker.
func (c *checked) ChangeLink(index int, p LinkParams) error {
	return c.do(func() error { return c.Handle.ChangeLink(index, p) })
}

// DeleteLink implements LinkMaker.
func (c *checked) DeleteLink(index int) error {
	return c.do(func() error { return c.Handle.DeleteLink(index) })
}

// SetUp implements LinkSetter.
func (c *checked) SetUp(index int, up bool) error {
	return c.do(func() error { return c.Handle.SetUp(index, up) })
}

// Rename implements LinkSetter.
func (c *checked) Rename(index int, name string) error {
	return c.do(func() error { return c.Handle.Rename(index, name) })
}

// SetAlias implements LinkSetter.
func (c *checked) SetAlias(index int, alias string) error {
	return c.do(func() error { return c.Handle.SetAlias(index, alias) })
}

// SetMTU implements LinkSetter.
func (c *checked) SetMTU(index int, mtu int) error {
	return c.do(func() error { return c.Handle.SetMTU(index, mtu) })
}

// SetMAC implements LinkSetter.
func (c *checked) SetMAC(index int, mac net.HardwareAddr) error {
	return c.do(func() error { return c.Handle.SetMAC(index, mac) })
}

// SetMaster implements LinkSetter.
func (c *checked) SetMaster(index, master int) error {
	return c.do(func() error { return c.Handle.SetMaster(index, master) })
}

// Move implements LinkSetter.
func (c *checked) Move(index int, to Handle) error {
	return c.do(func() error { return c.Handle.Move(index, Unchecked(to)) })
}

// Addresses implements Addresses.
func (c *checked) Addresses() ([]Address, error) { return read(c, c.Handle.Addresses) }

// AddAddress implements Addresses.
func (c *checked) AddAddress(a Address) error {
	return c.do(func() error { return c.Handle.AddAddress(a) })
}

// SetAddress implements Addresses.
func (c *checked) SetAddress(a Address) error {
	return c.do(func() error { return c.Handle.SetAddress(a) })
}

// DeleteAddress implements Addresses.
func (c *checked) DeleteAddress(a Address) error {
	return c.do(func() error { return c.Handle.DeleteAddress(a) })
}

// Neighbours implements Neighbours.
func (c *checked) Neighbours() ([]Neighbour, error) { return read(c, c.Handle.Neighbours) }

// AddNeighbour implements Neighbours.
func (c *checked) AddNeighbour(n Neighbour) error {
	return c.do(func() error { return c.Handle.AddNeighbour(n) })
}

// SetNeighbour implements Neighbours.
func (c *checked) SetNeighbour(n Neighbour) error {
	return c.do(func() error { return c.Handle.SetNeighbour(n) })
}

// DeleteNeighbour implements Neighbours.
func (c *checked) DeleteNeighbour(n Neighbour) error {
	return c.do(func() error { return c.Handle.DeleteNeighbour(n) })
}

// Routes implements Routes.
func (c *checked) Routes() ([]Route, error) { return read(c, c.Handle.Routes) }

// StaticRoutes implements Routes.
func (c *checked) StaticRoutes() ([]Route, error) { return read(c, c.Handle.StaticRoutes) }

// FindRoute implements Routes.
func (c *checked) FindRoute(r Route) (Route, error) {
	return read(c, func() (Route, error) { return c.Handle.FindRoute(r) })
}

// AddRoute implements Routes.
func (c *checked) AddRoute(r Route) error { return c.do(func() error { return c.Handle.AddRoute(r) }) }

// ReplaceRoute implements Routes.
func (c *checked) ReplaceRoute(r Route) error {
	return c.do(func() error { return c.Handle.ReplaceRoute(r) })
}

// DeleteRoute implements Routes.
func (c *checked) DeleteRoute(r Route) error {
	return c.do(func() error { return c.Handle.DeleteRoute(r) })
}

// ChangeRoutes implements Routes.
func (c *checked) ChangeRoutes(op RouteOp, all []Route) []error {
	return c.doAll(len(all), func() []error { return c.Handle.ChangeRoutes(op, all) })
}

// Nexthops implements Nexthops.
func (c *checked) Nexthops() ([]Nexthop, error) { return read(c, c.Handle.Nexthops) }

// AddNexthop implements Nexthops.
func (c *checked) AddNexthop(n Nexthop) error {
	return c.do(func() error { return c.Handle.AddNexthop(n) })
}

// ReplaceNexthop implements Nexthops.
func (c *checked) ReplaceNexthop(n Nexthop) error {
	return c.do(func() error { return c.Handle.ReplaceNexthop(n) })
}

// DeleteNexthop implements Nexthops.
func (c *checked) DeleteNexthop(id uint32) error {
	return c.do(func() error { return c.Handle.DeleteNexthop(id) })
}

// Rules implements Rules.
func (c *checked) Rules() ([]Rule, error) { return read(c, c.Handle.Rules) }

// AddRule implements Rules.
func (c *checked) AddRule(r Rule) error { return c.do(func() error { return c.Handle.AddRule(r) }) }

// ChangeRules implements Rules.
func (c *checked) ChangeRules(op RouteOp, all []Rule) []error {
	return c.doAll(len(all), func() []error { return c.Handle.ChangeRules(op, all) })
}

// DeleteRule implements Rules.
func (c *checked) DeleteRule(r Rule) error {
	return c.do(func() error { return c.Handle.DeleteRule(r) })
}

// Watch implements Watcher.
func (c *checked) Watch(ctx context.Context, ready func(), event func(Event)) error {
	return c.do(func() error { return c.Handle.Watch(ctx, ready, event) })
}

// Number implements Others.
func (c *checked) Number(other Handle) (int, error) {
	return read(c, func() (int, error) { return c.Handle.Number(Unchecked(other)) })
}

// WatchOthers implements Others.
func (c *checked) WatchOthers(ctx context.Context, ready func(), event func(number int, e Event)) error {
	return c.do(func() error { return c.Handle.WatchOthers(ctx, ready, event) })
}

// Sysctls implements Sysctls.
func (c *checked) Sysctls(link string, names []string) (map[string]int, error) {
	return read(c, func() (map[string]int, error) { return c.Handle.Sysctls(link, names) })
}

// SetSysctl implements Sysctls.
func (c *checked) SetSysctl(link, name string, value int) error {
	return c.do(func() error { return c.Handle.SetSysctl(link, name, value) })
}

// NFTable implements Nftables.
func (c *checked) NFTable(ctx context.Context, t NFTable, state bool) (string, error) {
	return read(c, func() (string, error) { return c.Handle.NFTable(ctx, t, state) })
}

// SetNFTable implements Nftables.
func (c *checked) SetNFTable(ctx context.Context, t NFTable, content string) error {
	return c.do(func() error { return c.Handle.SetNFTable(ctx, t, content) })
}

// DeleteNFTable implements Nftables.
func (c *checked) DeleteNFTable(ctx context.Context, t NFTable) error {
	return c.do(func() error { return c.Handle.DeleteNFTable(ctx, t) })
}

// TryNFTable implements Nftables.
func (c *checked) TryNFTable(ctx context.Context, t NFTable, content string, state bool) (string, error) {
	return read(c, func() (string, error) { return c.Handle.TryNFTable(ctx, t, content, state) })
}

// Listen implements Sockets.
func (c *checked) Listen(network, address string) (net.Listener, error) {
	return open(c, func() (net.Listener, error) { return c.Handle.Listen(network, address) })
}

// ListenPacket implements Sockets.
func (c *checked) ListenPacket(network, address string) (net.PacketConn, error) {
	return open(c, func() (net.PacketConn, error) { return c.Handle.ListenPacket(network, address) })
}

// Dial implements Sockets.
func (c *checked) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return open(c, func() (net.Conn, error) { return c.Handle.Dial(ctx, network, address) })
}

// PortVLANs implements BridgeVLANs.
func (c *checked) PortVLANs() (map[int][]PortVLAN, error) { return read(c, c.Handle.PortVLANs) }

// AddPortVLANs implements BridgeVLANs.
func (c *checked) AddPortVLANs(link int, first PortVLAN, last uint16) error {
	return c.do(func() error { return c.Handle.AddPortVLANs(link, first, last) })
}

// DeletePortVLANs implements BridgeVLANs.
func (c *checked) DeletePortVLANs(link int, first, last uint16) error {
	return c.do(func() error { return c.Handle.DeletePortVLANs(link, first, last) })
}

// SaveTable implements PacketFilter.
func (c *checked) SaveTable(ctx context.Context, t FilterTable) (string, error) {
	return read(c, func() (string, error) { return c.Handle.SaveTable(ctx, t) })
}

// RestoreTable implements PacketFilter.
func (c *checked) RestoreTable(ctx context.Context, t FilterTable, lines []string) error {
	return c.do(func() error { return c.Handle.RestoreTable(ctx, t, lines) })
}

// TryTable implements PacketFilter.
func (c *checked) TryTable(ctx context.Context, t FilterTable, lines []string) (string, error) {
	return read(c, func() (string, error) { return c.Handle.TryTable(ctx, t, lines) })
}

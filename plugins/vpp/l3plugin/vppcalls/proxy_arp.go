package vppcalls

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/arp"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// ARPRange are IPv4 addresses of a table whose ARP requests are answered.
type ARPRange struct {
	Table       uint32
	First, Last netip.Addr
}

// ProxyARP is the operation of all that proxy ARP needs.
var ProxyARP = session.Require(&Operations, "proxy ARP", "",
	(*arp.ProxyArpAddDel)(nil), (*arp.ProxyArpAddDelReply)(nil), (*arp.ProxyArpDump)(nil), (*arp.ProxyArpDetails)(nil),
	(*arp.ProxyArpIntfcEnableDisable)(nil), (*arp.ProxyArpIntfcEnableDisableReply)(nil),
	(*arp.ProxyArpIntfcDump)(nil), (*arp.ProxyArpIntfcDetails)(nil))

// SetARPRange adds or deletes a range. If there is nothing to do, that is a success.
func (c *Calls) SetARPRange(ctx context.Context, r ARPRange, add bool) error {
	if err := ProxyARP.Check(c.vpp); err != nil {
		return err
	}
	err := c.vpp.Call(ctx, &arp.ProxyArpAddDel{IsAdd: add, Proxy: arp.ProxyArp{
		TableID: r.Table, Low: r.First.As4(), Hi: r.Last.As4(),
	}}, &arp.ProxyArpAddDelReply{})
	if err == nil || !add && session.Gone(err, api.NO_SUCH_ENTRY, api.NO_SUCH_FIB) {
		return nil
	}
	return fmt.Errorf("range %s-%s in table %d: %w", r.First, r.Last, r.Table, err)
}

// DumpARPRanges returns all ranges, in the order in which they were added, without
// those in tables that do not exist any more.
func (c *Calls) DumpARPRanges(ctx context.Context) ([]ARPRange, error) {
	found, err := session.DumpOf[*arp.ProxyArpDetails](ctx, c.vpp, ProxyARP, &arp.ProxyArpDump{})
	if err != nil {
		return nil, err
	}
	tableOf, err := c.arpTables(ctx, found)
	if err != nil {
		return nil, fmt.Errorf("tables of proxy ARP: %w", err)
	}
	out := make([]ARPRange, 0, len(found))
	for _, d := range found {
		if table, exists := tableOf(d.Proxy.TableID); exists {
			out = append(out, ARPRange{table, netip.AddrFrom4(d.Proxy.Low), netip.AddrFrom4(d.Proxy.Hi)})
		}
	}
	return out, nil
}

// arpTables tells the table of a record. VPP before 25.10 puts into records not its
// ID but its index, which only the command line shows (binding.TableIndex); table 0
// has the index 0.
func (c *Calls) arpTables(ctx context.Context, found []*arp.ProxyArpDetails) (tableOf func(uint32) (id uint32, exists bool), err error) {
	s, err := c.vpp.Session()
	if err != nil {
		return nil, err
	}
	_, byIndex := s.Quirks.Find((*arp.ProxyArpDetails)(nil).GetMessageName(), binding.TableIndex)
	if !byIndex || !slices.ContainsFunc(found, func(d *arp.ProxyArpDetails) bool { return d.Proxy.TableID != 0 }) {
		return func(id uint32) (uint32, bool) { return id, true }, nil
	}
	ids, err := c.tablesByIndex(ctx)
	return func(index uint32) (uint32, bool) {
		id, ok := ids[index]
		return id, ok
	}, err
}

// DumpProxyARP returns the interfaces that answer requests.
func (c *Calls) DumpProxyARP(ctx context.Context) ([]uint32, error) {
	found, err := session.DumpOf[*arp.ProxyArpIntfcDetails](ctx, c.vpp, ProxyARP, &arp.ProxyArpIntfcDump{})
	if err != nil {
		return nil, err
	}
	out := make([]uint32, len(found))
	for i, d := range found {
		out[i] = d.SwIfIndex
	}
	return out, nil
}

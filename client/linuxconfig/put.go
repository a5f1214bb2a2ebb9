package linuxconfig

import (
	"google.golang.org/protobuf/proto"

	linuxinterfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
	linuxl3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	nftables "github.com/tenuto-dev/tenuto/proto/ligato/linux/nftables"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/linux/punt"
	netalloc "github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// Put collects items to add or to change.
type Put struct{ r *Request }

// Delete continues with items to remove.
func (p *Put) Delete() *Delete { return p.r.Delete() }

// Send sends the request, see Request.Send.
func (p *Put) Send() Reply { return p.r.Send() }

// Interface puts an interface.
func (p *Put) Interface(v *linuxinterfaces.Interface) *Put { p.r.put(v); return p }

// ArpEntry puts a static neighbour.
func (p *Put) ArpEntry(v *linuxl3.ARPEntry) *Put { p.r.put(v); return p }

// Route puts a route.
func (p *Put) Route(v *linuxl3.Route) *Put { p.r.put(v); return p }

// Rule puts a policy rule.
func (p *Put) Rule(v *linuxl3.Rule) *Put { p.r.put(v); return p }

// Nexthop puts a nexthop object.
func (p *Put) Nexthop(v *linuxl3.Nexthop) *Put { p.r.put(v); return p }

// IptablesRuleChain puts a chain of packet filter rules.
func (p *Put) IptablesRuleChain(v *iptables.RuleChain) *Put { p.r.put(v); return p }

// NftablesTable puts a table of nftables.
func (p *Put) NftablesTable(v *nftables.Table) *Put { p.r.put(v); return p }

// PuntProxy puts a proxy between ports and Unix sockets.
func (p *Put) PuntProxy(v *punt.Proxy) *Put { p.r.put(v); return p }

// IPAllocation puts an allocated address.
func (p *Put) IPAllocation(v *netalloc.IPAllocation) *Put { p.r.put(v); return p }

// Item puts an item of any model, also of those that have no method of their own.
func (p *Put) Item(v proto.Message) *Put { p.r.put(v); return p }

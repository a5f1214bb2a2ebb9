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

// Resync collects all items that the client wants.
type Resync struct{ r *Request }

// Send makes the items the whole configuration of the local clients: others
// that they put before, of whatever type, are removed.
func (s *Resync) Send() Reply { return s.r.replace() }

// Interface adds an interface.
func (s *Resync) Interface(v *linuxinterfaces.Interface) *Resync { s.r.put(v); return s }

// ArpEntry adds a static neighbour.
func (s *Resync) ArpEntry(v *linuxl3.ARPEntry) *Resync { s.r.put(v); return s }

// Route adds a route.
func (s *Resync) Route(v *linuxl3.Route) *Resync { s.r.put(v); return s }

// Rule adds a policy rule.
func (s *Resync) Rule(v *linuxl3.Rule) *Resync { s.r.put(v); return s }

// Nexthop adds a nexthop object.
func (s *Resync) Nexthop(v *linuxl3.Nexthop) *Resync { s.r.put(v); return s }

// IptablesRuleChain adds a chain of packet filter rules.
func (s *Resync) IptablesRuleChain(v *iptables.RuleChain) *Resync { s.r.put(v); return s }

// NftablesTable adds a table of nftables.
func (s *Resync) NftablesTable(v *nftables.Table) *Resync { s.r.put(v); return s }

// PuntProxy adds a proxy between ports and Unix sockets.
func (s *Resync) PuntProxy(v *punt.Proxy) *Resync { s.r.put(v); return s }

// IPAllocation adds an allocated address.
func (s *Resync) IPAllocation(v *netalloc.IPAllocation) *Resync { s.r.put(v); return s }

// Item adds an item of any model, also of those that have no method of their own.
func (s *Resync) Item(v proto.Message) *Resync { s.r.put(v); return s }

package vppcalls

import (
	"context"
	"slices"

	"go.fd.io/govpp/binapi/arp"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
)

// ProxyARPTables reports the table of a record. VPP before 25.10 puts into records not its
// ID but its index, which only the command line shows (binding.TableIndex); table 0
// has the index 0.
func (c *Calls) ProxyARPTables(ctx context.Context, found []*arp.ProxyArpDetails) (tableOf func(uint32) (id uint32, exists bool), err error) {
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

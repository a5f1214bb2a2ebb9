package vppcalls

import (
	"context"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Table is a VRF table of one version of IP.
type Table struct {
	ID   uint32
	IPv6 bool
	// Name; if empty when the table is added, VPP makes one up.
	Name string
}

func (t Table) message() ip.IPTable { return ip.IPTable{TableID: t.ID, IsIP6: t.IPv6, Name: t.Name} }

var addDelTable = session.Declare(&Operations, "VRF table", "",
	session.Variant((*Calls).tableV2, (*ip.IPTableAddDelV2)(nil), (*ip.IPTableAddDelV2Reply)(nil)),
	session.Variant((*Calls).tableV1, (*ip.IPTableAddDel)(nil), (*ip.IPTableAddDelReply)(nil)),
)

func (c *Calls) tableV2(ctx context.Context, t ip.IPTable, add bool) error {
	return c.vpp.Call(ctx, &ip.IPTableAddDelV2{Table: t, CreateMfib: true, IsAdd: add}, &ip.IPTableAddDelV2Reply{})
}

func (c *Calls) tableV1(ctx context.Context, t ip.IPTable, add bool) error {
	return c.vpp.Call(ctx, &ip.IPTableAddDel{Table: t, IsAdd: add}, &ip.IPTableAddDelReply{})
}

func (c *Calls) table(ctx context.Context, t Table, add bool) error {
	do, err := addDelTable.On(c.vpp)
	if err != nil {
		return err
	}
	return do(c, ctx, t.message(), add)
}

// AddTable adds a table. If it exists, that is a success; its name stays.
func (c *Calls) AddTable(ctx context.Context, t Table) error { return c.table(ctx, t, true) }

// DeleteTable deletes a table; it exists on while others use it. If it does not
// exist, that is a success.
func (c *Calls) DeleteTable(ctx context.Context, t Table) error {
	err := c.table(ctx, t, false)
	if session.Gone(err, api.NO_SUCH_FIB, api.NO_SUCH_TABLE) {
		return nil
	}
	return err
}

// DumpTables returns the tables of both versions of IP.
func (c *Calls) DumpTables(ctx context.Context) ([]Table, error) {
	found, err := session.Dump[*ip.IPTableDetails](ctx, c.vpp, &ip.IPTableDump{})
	if err != nil {
		return nil, err
	}
	out := make([]Table, len(found))
	for i, d := range found {
		out[i] = Table{d.Table.TableID, d.Table.IsIP6, d.Table.Name}
	}
	return out, nil
}

// DefaultFlowHash is what the hash that chooses among paths covers by default.
const DefaultFlowHash = ip.IP_API_FLOW_HASH_SRC_IP | ip.IP_API_FLOW_HASH_DST_IP |
	ip.IP_API_FLOW_HASH_SRC_PORT | ip.IP_API_FLOW_HASH_DST_PORT | ip.IP_API_FLOW_HASH_PROTO

// SetFlowHash changes the hash of a table. VPP does not report the current one.
func (c *Calls) SetFlowHash(ctx context.Context, t Table, covers ip.IPFlowHashConfig) error {
	return c.vpp.Call(ctx, &ip.SetIPFlowHashV2{TableID: t.ID, Af: ipconv.Family(t.IPv6), FlowHashConfig: covers},
		&ip.SetIPFlowHashV2Reply{})
}

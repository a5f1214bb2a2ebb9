package vppcalls

import (
	"context"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Table is a VRF table of one version of IP. VPP makes up a name if it is added without one.
type Table = ip.IPTable

var addDelTable = session.Declare("VRF table", "",
	session.Variant(func(t Table, add bool) (request, reply api.Message) {
		return &ip.IPTableAddDelV2{Table: t, CreateMfib: true, IsAdd: add}, &ip.IPTableAddDelV2Reply{}
	}, (*ip.IPTableAddDelV2)(nil), (*ip.IPTableAddDelV2Reply)(nil)),
	session.Variant(func(t Table, add bool) (request, reply api.Message) {
		return &ip.IPTableAddDel{Table: t, IsAdd: add}, &ip.IPTableAddDelReply{}
	}, (*ip.IPTableAddDel)(nil), (*ip.IPTableAddDelReply)(nil)),
)

// SetTable adds a table, or deletes it. One that exists keeps its name, and one that is deleted
// exists on while others use it. If there is nothing to do, that is a success.
func (c *Calls) SetTable(ctx context.Context, t Table, add bool) error {
	variant, err := addDelTable.On(c.vpp)
	if err != nil {
		return err
	}
	req, reply := variant(t, add)
	if err := c.vpp.Call(ctx, req, reply); add || !session.Gone(err, api.NO_SUCH_FIB, api.NO_SUCH_TABLE) {
		return err
	}
	return nil
}

// DumpTables returns the tables of both versions of IP.
func (c *Calls) DumpTables(ctx context.Context) ([]Table, error) {
	found, err := session.Dump[*ip.IPTableDetails](ctx, c.vpp, &ip.IPTableDump{})
	if err != nil {
		return nil, err
	}
	out := make([]Table, len(found))
	for i, d := range found {
		out[i] = d.Table
	}
	return out, nil
}

// DefaultFlowHash is what the hash that chooses among paths covers by default.
const DefaultFlowHash = ip.IP_API_FLOW_HASH_SRC_IP | ip.IP_API_FLOW_HASH_DST_IP |
	ip.IP_API_FLOW_HASH_SRC_PORT | ip.IP_API_FLOW_HASH_DST_PORT | ip.IP_API_FLOW_HASH_PROTO

// SetFlowHash changes the hash of a table. VPP does not report the current one.
func (c *Calls) SetFlowHash(ctx context.Context, t Table, covers ip.IPFlowHashConfig) error {
	return c.vpp.Call(ctx, &ip.SetIPFlowHashV2{TableID: t.TableID, Af: ipconv.Family(t.IsIP6), FlowHashConfig: covers},
		&ip.SetIPFlowHashV2Reply{})
}

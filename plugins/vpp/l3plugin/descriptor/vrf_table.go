package descriptor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.fd.io/govpp/binapi/ip"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// A VRF table is a separate routing table of one version of IP. Table 0 always
// exists: configuring it changes its flow hash, and nothing waits for it. The
// name of a table cannot be changed, so another label is another table. VPP
// does not report the flow hash; what was set in this session is remembered in the
// metadata.
//
// It is no item.Entry, which does not remember in metadata what it set, and would report
// table 0 as an object of another client.

const (
	// maxLabel is the longest name of a table, in bytes.
	maxLabel = 63
	// noTable is the number that stands for no table.
	noTable = ^uint32(0)
)

type vrfTableDescriptor struct{ vpp *vppcalls.Calls }

type vrfTableKV = kvs.KV[*l3.VrfTable, *VRFMeta]

// NewVrfTable describes VRF tables.
func NewVrfTable(vpp *vppcalls.Calls) *kvs.KVDescriptor {
	d := &vrfTableDescriptor{vpp}
	return kvs.Adapt(kvs.Describe(model.VrfTableModel, kvs.Descriptor[*l3.VrfTable, *VRFMeta]{
		Name:         VrfTableName,
		Southbound:   item.Southbound,
		WithMetadata: true,
		Validate:     validateVrfTable,
		Identities: func(_ string, t *l3.VrfTable) []string {
			return []string{item.TableIdentity(t.GetId(), t.GetProtocol())}
		},
		ValueComparator:    sameVrfTable,
		UpdateWithRecreate: func(_ string, a, b *l3.VrfTable, _ *VRFMeta) bool { return label(a) != label(b) },
		CreateContext:      d.create,
		UpdateContext:      d.update,
		DeleteContext:      d.remove,
		RetrieveContext:    d.retrieve,
	}))
}

func validateVrfTable(_ string, t *l3.VrfTable) error {
	var r item.Resolver
	if _, ok := l3.VrfTable_Protocol_name[int32(t.GetProtocol())]; !ok {
		r.Fail("protocol", "%d, expected IPV4 or IPV6", t.GetProtocol())
	}
	if n := len(t.GetLabel()); n > maxLabel {
		r.Fail("label", "has %d bytes, expected at most %d", n, maxLabel)
	}
	if t.GetId() == 0 && t.GetLabel() != "" && t.GetLabel() != defaultLabel(t) {
		r.Fail("label", "%q, expected none: table 0 cannot be renamed", t.GetLabel())
	}
	return r.Err()
}

// label is the name that the table has in VPP.
func label(t *l3.VrfTable) string {
	if t.GetLabel() != "" {
		return t.GetLabel()
	}
	return defaultLabel(t)
}

func defaultLabel(t *l3.VrfTable) string {
	return fmt.Sprintf("%s-VRF:%d", strings.ToLower(t.GetProtocol().String()), t.GetId())
}

func sameVrfTable(_ string, a, b *l3.VrfTable) bool {
	return a.GetId() == b.GetId() && a.GetProtocol() == b.GetProtocol() && label(a) == label(b) &&
		proto.Equal(a.GetFlowHashSettings(), b.GetFlowHashSettings())
}

func table(t *l3.VrfTable) vppcalls.Table {
	return vppcalls.Table{TableID: t.GetId(), IsIP6: t.GetProtocol() == l3.VrfTable_IPV6, Name: label(t)}
}

func flowHash(h *l3.VrfTable_FlowHashSettings) ip.IPFlowHashConfig {
	if h == nil {
		return vppcalls.DefaultFlowHash
	}
	return session.Flags(map[ip.IPFlowHashConfig]bool{
		ip.IP_API_FLOW_HASH_SRC_IP: h.UseSrcIp, ip.IP_API_FLOW_HASH_DST_IP: h.UseDstIp,
		ip.IP_API_FLOW_HASH_SRC_PORT: h.UseSrcPort, ip.IP_API_FLOW_HASH_DST_PORT: h.UseDstPort,
		ip.IP_API_FLOW_HASH_PROTO: h.UseProtocol, ip.IP_API_FLOW_HASH_REVERSE: h.Reverse,
		ip.IP_API_FLOW_HASH_SYMETRIC: h.Symmetric,
	})
}

func meta(t *l3.VrfTable) *VRFMeta {
	return &VRFMeta{Index: t.GetId(), Protocol: t.GetProtocol(), FlowHash: t.GetFlowHashSettings()}
}

func (d *vrfTableDescriptor) create(ctx context.Context, _ string, t *l3.VrfTable) (*VRFMeta, error) {
	if t.GetId() != 0 {
		if err := d.vpp.SetTable(ctx, table(t), true); err != nil {
			return nil, err
		}
	}
	if t.GetFlowHashSettings() == nil {
		return meta(t), nil
	}
	if err := d.vpp.SetFlowHash(ctx, table(t), flowHash(t.GetFlowHashSettings())); err != nil {
		return nil, errors.Join(err, d.remove(ctx, "", t, nil)) // leave nothing half-made
	}
	return meta(t), nil
}

func (d *vrfTableDescriptor) update(ctx context.Context, _ string, _, t *l3.VrfTable, _ *VRFMeta) (*VRFMeta, error) {
	// Only the flow hash can differ, or a label that means the same.
	return meta(t), d.vpp.SetFlowHash(ctx, table(t), flowHash(t.GetFlowHashSettings()))
}

func (d *vrfTableDescriptor) remove(ctx context.Context, _ string, t *l3.VrfTable, m *VRFMeta) error {
	if t.GetId() != 0 {
		return d.vpp.SetTable(ctx, table(t), false)
	}
	if m == nil || m.FlowHash == nil {
		return nil
	}
	return d.vpp.SetFlowHash(ctx, table(t), flowHash(nil))
}

func (d *vrfTableDescriptor) retrieve(ctx context.Context, correlate []vrfTableKV) ([]vrfTableKV, error) {
	all, err := d.vpp.DumpTables(ctx)
	if err != nil {
		return nil, err
	}
	wanted := make(map[string]vrfTableKV, len(correlate))
	for _, kv := range correlate {
		if w, ok := wanted[kv.Key]; !ok || w.Metadata == nil {
			wanted[kv.Key] = kv
		}
	}
	var out []vrfTableKV
	for _, found := range all {
		if found.TableID == noTable { // VPP's own, such as those for SRv6 steering
			continue
		}
		t := &l3.VrfTable{Id: found.TableID, Label: found.Name}
		if found.IsIP6 {
			t.Protocol = l3.VrfTable_IPV6
		}
		kv := vrfTableKV{Key: model.VrfTableModel.Key(t), Value: t, Origin: kvs.UnknownOrigin}
		w, ok := wanted[kv.Key]
		switch {
		case ok:
			kv.Origin = kvs.FromNB
		case found.TableID == 0:
			kv.Origin = kvs.FromSB // VPP's own
		}
		if ok && w.Metadata != nil {
			t.FlowHashSettings = w.Metadata.FlowHash
		}
		if t.Label == defaultLabel(t) {
			t.Label = w.Value.GetLabel()
		}
		kv.Metadata = meta(t)
		out = append(out, kv)
	}
	return out, nil
}

package classifyplugin

import (
	"cmp"
	"context"
	"maps"
	"math/bits"
	"slices"

	"go.fd.io/govpp/api"
	vppapi "go.fd.io/govpp/binapi/classify"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	classify "github.com/tenuto-dev/tenuto/proto/ligato/vpp/classify"
)

// table is a table as VPP has it.
type table struct {
	listed
	untold
}

// untold is what VPP does not report of a table.
type untold struct {
	current bool
	offset  int16
	use     classify.Table_Use
}

const minSessions = 1024

var tableOperation = session.Require("classifier table", "",
	append([]api.Message{&vppapi.ClassifyAddDelTable{}, &vppapi.ClassifyAddDelTableReply{}}, listMessages()...)...)

type tableDescriptor struct {
	item.Resolution[*classify.Table, table]
	vpp    *session.VPP
	tables *Tables
}

type tableKV = kvs.KV[*classify.Table, *Table]

// NewTable describes tables. VPP does not know their names: see retrieve. It does not look whether a
// table that it deletes is in use, and then crashes on packets; the users of a table wait for it.
func NewTable(vpp *session.VPP, tables *Tables) *kvs.KVDescriptor {
	d := &tableDescriptor{vpp: vpp, tables: tables}
	d.Resolve = d.resolve
	return kvs.Adapt(kvs.Describe(TableModel, kvs.Descriptor[*classify.Table, *Table]{
		Name:         TableName,
		Southbound:   item.Southbound,
		WithMetadata: true,
		Validate:     d.Validate,
		Dependencies: d.Dependencies,
		ValueComparator: func(_ string, a, b *classify.Table) bool {
			x, y, ok := d.Both(a, b)
			return ok && x == y
		},
		UpdateWithRecreate: func(_ string, old, v *classify.Table, m *Table) bool {
			x, y, ok := d.Both(old, v)
			return !ok || m == nil || x.fixed() != y.fixed() || x.untold != y.untold
		},
		CreateContext: func(ctx context.Context, _ string, v *classify.Table) (*Table, error) { return d.set(ctx, v, none) },
		UpdateContext: func(ctx context.Context, _ string, _, v *classify.Table, m *Table) (*Table, error) {
			return d.set(ctx, v, m.Index)
		},
		DeleteContext:   d.remove,
		RetrieveContext: d.retrieve,
	}))
}

func (d *tableDescriptor) resolve(r *item.Resolver, v *classify.Table) table {
	r.Enum("miss", v.GetMiss())
	r.Enum("use", v.GetUse())
	t := table{
		listed: listed{
			mask: digits(r, "mask", v.GetMask()), skip: v.GetSkip(),
			buckets: roundUp(v.GetMaxSessions()), next: none, miss: nextIndex(v.GetMiss()),
		},
		untold: untold{v.GetCurrentData(), int16(v.GetCurrentDataOffset()), v.GetUse()},
	}
	if offset := v.GetCurrentDataOffset(); offset != 0 && !t.current {
		r.Fail("current_data_offset", "%d, expected 0 without current_data", offset)
	}
	if next := v.GetNextTable(); next != "" {
		if next == v.GetName() {
			r.Fail("next_table", "is the table itself")
		}
		r.DependsOn("next-table-exists", TableModel.KeyFor(next))
		if to := d.tables.resolve(r, "next_table", next, v.GetUse()); to != nil {
			t.next = to.Index
		}
	}
	checkUse(r, v, t)
	return t
}

// checkUse refuses what VPP ignores for a use, and tables that VPP would fill until it crashes.
func checkUse(r *item.Resolver, v *classify.Table, t table) {
	if t.use != classify.Table_ACL && t.current {
		r.Fail("current_data", "true, expected false: VPP compares packets from their first byte on if use is %s", t.use)
	}
	if t.use != classify.Table_FLOW {
		return
	}
	if v.GetNextTable() != "" {
		r.Fail("next_table", "%q, expected none: VPP adds sessions to this table if use is FLOW", v.GetNextTable())
	}
	if v.GetMiss() != classify.Next_CONTINUE {
		r.Fail("miss", "%s, expected CONTINUE: VPP adds a session for each packet without one if use is FLOW", v.GetMiss())
	}
	set := 0
	for _, b := range []byte(t.mask) {
		set += bits.OnesCount8(b)
	}
	if most := bits.Len32(t.buckets) - 1; t.buckets != 0 && set > most {
		r.Fail("mask", "has %d set bits, expected at most %d: VPP adds a session for each flow if use is FLOW, and max_sessions has room for %d",
			set, most, t.buckets)
	}
}

func roundUp(sessions uint32) uint32 {
	return 1 << bits.Len32(max(sessions, minSessions)-1)
}

// memory returns the size of the heap of a table. Where there are as many buckets as sessions VPP takes
// less than half of what is given for each, even if their hashes are unevenly distributed.
func (t table) memory() uint32 {
	const base, perBlock = 1 << 20, 512
	return base + (t.buckets+spareSessions)*perBlock*(1+uint32(len(t.mask)/block))
}

func nextIndex(n classify.Next) uint32 {
	if n == classify.Next_DENY {
		return deny
	}
	return none
}

// set creates a table, or changes the next table of the one with an index.
func (d *tableDescriptor) set(ctx context.Context, v *classify.Table, index uint32) (*Table, error) {
	if err := tableOperation.Check(d.vpp); err != nil {
		return nil, err
	}
	t, err := d.Live(v)
	if err != nil {
		return nil, err
	}
	request, reply := &vppapi.ClassifyAddDelTable{
		IsAdd: true, TableIndex: index, Nbuckets: t.buckets, MemorySize: t.memory(), SkipNVectors: t.skip,
		MatchNVectors: uint32(len(t.mask) / block), NextTableIndex: t.next, MissNextIndex: t.miss,
		CurrentDataOffset: t.offset, MaskLen: uint32(len(t.mask)), Mask: []byte(t.mask),
	}, &vppapi.ClassifyAddDelTableReply{}
	if t.current {
		request.CurrentDataFlag = 1
	}
	if err := d.vpp.Call(ctx, request, reply); err != nil {
		return nil, err
	}
	if index == none {
		d.tables.created(reply.NewTableIndex)
	}
	return &Table{reply.NewTableIndex, t.mask, t.skip, t.buckets, t.use}, nil
}

// remove does nothing for a table without an index: its creation was not confirmed, and it was not found.
func (d *tableDescriptor) remove(ctx context.Context, _ string, _ *classify.Table, m *Table) error {
	if m == nil {
		return nil
	}
	err := d.vpp.Call(ctx, &vppapi.ClassifyAddDelTable{TableIndex: m.Index}, &vppapi.ClassifyAddDelTableReply{})
	if session.Gone(err, api.NO_SUCH_TABLE) {
		return nil
	}
	return err
}

// retrieve finds the expected tables: by the indexes that are known, and after a restart by what VPP reports
// of tables, the lowest index first. A table whose next table is expected too comes after that. Others are
// of other clients.
func (d *tableDescriptor) retrieve(ctx context.Context, correlate []tableKV) ([]tableKV, error) {
	if err := tableOperation.Check(d.vpp); err != nil {
		return nil, item.IgnoreUnsupported(err)
	}
	all, err := listTables(ctx, d.vpp)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	f := &finding{d: d, all: all, indexes: map[string]uint32{}, names: map[uint32]string{}}
	for _, c := range correlate {
		if m := c.Metadata; m != nil {
			f.claim(c, func(index uint32, has, _ table) bool { return index == m.Index })
		}
	}
	sorted := slices.SortedFunc(slices.Values(correlate), func(a, b tableKV) int { return cmp.Compare(a.Key, b.Key) })
	for before := -1; before < len(f.found); {
		before = len(f.found)
		for _, c := range sorted {
			f.claim(c, func(_ uint32, has, wanted table) bool { return has.next == wanted.next })
		}
	}
	return f.values(), nil
}

// finding is a search for tables.
type finding struct {
	d       *tableDescriptor
	all     map[uint32]listed
	indexes map[string]uint32 // of those that were found, by name
	names   map[uint32]string
	found   []tableKV
}

// claim assigns a value its table, if there is one without a value yet.
func (f *finding) claim(c tableKV, is func(index uint32, has, wanted table) bool) {
	if _, has := f.indexes[c.Value.GetName()]; has {
		return
	}
	wanted, _, ok := f.d.Both(c.Value, c.Value)
	if next := c.Value.GetNextTable(); next != "" {
		index, known := f.indexes[next]
		if wanted.next = index; !known {
			wanted.next = none - 1 // VPP has no such table
		}
	}
	if !ok {
		return
	}
	for _, index := range slices.Sorted(maps.Keys(f.all)) {
		has := f.all[index]
		if f.names[index] == "" && has.fixed() == wanted.fixed() && is(index, table{listed: has}, wanted) {
			f.indexes[c.Value.GetName()], f.names[index] = index, c.Value.GetName()
			f.found = append(f.found, tableKV{Key: c.Key, Value: c.Value, Metadata: &Table{index, has.mask, has.skip, has.buckets, wanted.use}, Origin: kvs.FromNB})
			return
		}
	}
}

// values returns the tables that were found, with the names of their next tables.
func (f *finding) values() []tableKV {
	for i := range f.found {
		kv := &f.found[i]
		next := f.names[f.all[kv.Metadata.Index].next]
		if next != kv.Value.GetNextTable() {
			kv.Value = proto.CloneOf(kv.Value)
			kv.Value.NextTable = next
		}
	}
	return f.found
}

package vnet

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/classify"
)

// classifyBlock is the unit of masks, in bytes.
const classifyBlock = 16

// classifier is the packet classifier: tables, their sessions, and the tables that hooks use
// on interfaces. It does not look whether a table that it deletes is in use, and keeps the tables of
// deleted interfaces.
type classifier struct {
	*VNet
	tables pool[classifyTable]
	uses   map[classifyUse]uint32
	shown  map[classifyUse]bool // without interfaces: those that were ever used
}

type classifyTable struct {
	config   classify.ClassifyAddDelTable
	sessions map[string]*classifySession
}

type classifySession struct {
	config classify.ClassifyAddDelSession
	table  *fib.Table // of the action
}

// classifyUse is where an interface has a table.
type classifyUse struct {
	hook  classifyHook
	kind  int // in classifyKinds
	index uint32
}

// classifyHook is what uses a table.
type classifyHook int

const (
	inputACL classifyHook = iota
	outputACL
	classifyPolicer
	classifyFlow
)

// node returns the node of a hook in the path of packets of a kind. In layer 2 it is a bit of the
// interface.
func (h classifyHook) node(kind string) (arcFeature, bool) {
	arc, node := kind+"-unicast", map[classifyHook]string{
		inputACL: kind + "-inacl", outputACL: kind + "-outacl", classifyPolicer: kind + "-policer-classify", classifyFlow: kind + "-flow-classify",
	}[h]
	if h == outputACL {
		arc = kind + "-output"
	}
	return arcFeature{arc, node}, kind != "l2"
}

func classifyKinds() []string { return []string{"ip4", "ip6", "l2"} }

func newClassifier(n *VNet) feature { return &classifier{VNet: n} }

func (n *classifier) register(server *wire.Server) {
	wire.Handle(server, func(_ *wire.Call, req *classify.ClassifyAddDelTable) *classify.ClassifyAddDelTableReply {
		index, rv := n.changeTable(req)
		if rv != ok || !req.IsAdd {
			return &classify.ClassifyAddDelTableReply{Retval: int32(rv), NewTableIndex: none, SkipNVectors: none, MatchNVectors: none}
		}
		c := n.tables.at(index).config
		return &classify.ClassifyAddDelTableReply{NewTableIndex: index, SkipNVectors: c.SkipNVectors, MatchNVectors: c.MatchNVectors}
	})
	wire.Handle(server, func(_ *wire.Call, _ *classify.ClassifyTableIds) *classify.ClassifyTableIdsReply {
		reply := &classify.ClassifyTableIdsReply{}
		for index := range n.tables.all() {
			reply.Ids = append(reply.Ids, index)
		}
		reply.Count = uint32(len(reply.Ids))
		return reply
	})
	wire.Handle(server, func(_ *wire.Call, req *classify.ClassifyTableInfo) *classify.ClassifyTableInfoReply {
		t := n.tables.at(req.TableID)
		if t == nil {
			return &classify.ClassifyTableInfoReply{Retval: int32(api.CLASSIFY_TABLE_NOT_FOUND)}
		}
		c := t.config
		return &classify.ClassifyTableInfoReply{
			TableID: req.TableID, Nbuckets: c.Nbuckets, MatchNVectors: c.MatchNVectors, SkipNVectors: c.SkipNVectors,
			ActiveSessions: uint32(len(t.sessions)), NextTableIndex: c.NextTableIndex, MissNextIndex: c.MissNextIndex,
			MaskLength: uint32(len(c.Mask)), Mask: c.Mask,
		}
	})
	handle[classify.ClassifyAddDelSessionReply](server, n.changeSession)
	wire.HandleDump(server, func(c *wire.Call, req *classify.ClassifySessionDump) {
		t := n.tables.at(req.TableID)
		if t == nil {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(t.sessions)) {
			s := t.sessions[key].config
			c.Send(&classify.ClassifySessionDetails{
				TableID: req.TableID, HitNextIndex: s.HitNextIndex & 0xffff, Advance: s.Advance, OpaqueIndex: s.OpaqueIndex,
				MatchLength: uint32(len(key)), Match: []byte(key),
			})
		}
	})
	n.registerUses(server)
}

func (n *classifier) registerUses(server *wire.Server) {
	handle[classify.PolicerClassifySetInterfaceReply](server, func(req *classify.PolicerClassifySetInterface) retval {
		return n.use(classifyPolicer, req.SwIfIndex, []uint32{req.IP4TableIndex, req.IP6TableIndex, req.L2TableIndex}, req.IsAdd)
	})
	handle[classify.FlowClassifySetInterfaceReply](server, func(req *classify.FlowClassifySetInterface) retval {
		return n.use(classifyFlow, req.SwIfIndex, []uint32{req.IP4TableIndex, req.IP6TableIndex}, req.IsAdd)
	})
	handle[classify.InputACLSetInterfaceReply](server, func(req *classify.InputACLSetInterface) retval {
		return n.use(inputACL, req.SwIfIndex, []uint32{req.IP4TableIndex, req.IP6TableIndex, req.L2TableIndex}, req.IsAdd)
	})
	handle[classify.OutputACLSetInterfaceReply](server, func(req *classify.OutputACLSetInterface) retval {
		return n.use(outputACL, req.SwIfIndex, []uint32{req.IP4TableIndex, req.IP6TableIndex, req.L2TableIndex}, req.IsAdd)
	})
}

func (n *classifier) reset() {
	*n = classifier{VNet: n.VNet, uses: map[classifyUse]uint32{}, shown: map[classifyUse]bool{}}
}

func (n *classifier) changeTable(req *classify.ClassifyAddDelTable) (uint32, retval) {
	has := n.tables.at(req.TableIndex)
	switch {
	case uint32(len(req.Mask)) != req.MatchNVectors*classifyBlock:
		return none, api.INVALID_VALUE
	case !req.IsAdd && has == nil:
		return none, api.NO_SUCH_TABLE
	case !req.IsAdd:
		n.tables.remove(req.TableIndex)
		return none, ok
	case has != nil:
		has.config.NextTableIndex = req.NextTableIndex
		return req.TableIndex, ok
	case req.MemorySize == 0:
		return none, api.INVALID_MEMORY_SIZE
	case req.Nbuckets == 0, req.MatchNVectors < 1, req.MatchNVectors > 5:
		return none, api.INVALID_VALUE
	}
	t := &classifyTable{config: *req, sessions: map[string]*classifySession{}}
	t.config.Mask = slices.Clone(req.Mask)
	t.config.Nbuckets = 1 << bits.Len32(req.Nbuckets-1)
	return n.tables.add(t), ok
}

func (n *classifier) changeSession(req *classify.ClassifyAddDelSession) retval {
	t := n.tables.at(req.TableIndex)
	if t == nil {
		return api.NO_SUCH_TABLE
	}
	skip := t.config.SkipNVectors * classifyBlock
	if uint32(len(req.Match)) != skip+uint32(len(t.config.Mask)) {
		return api.INVALID_VALUE
	}
	key := slices.Clone(req.Match[skip:])
	for i := range key {
		key[i] &= t.config.Mask[i]
	}
	has := t.sessions[string(key)]
	switch {
	case req.IsAdd:
		s := &classifySession{config: *req} // the VRF table of one that is replaced is kept for ever
		switch req.Action {
		case classify.CLASSIFY_API_ACTION_SET_IP4_FIB_INDEX:
			s.table = n.holdTable(ip4, req.Metadata)
		case classify.CLASSIFY_API_ACTION_SET_IP6_FIB_INDEX:
			s.table = n.holdTable(ip6, req.Metadata)
		}
		t.sessions[string(key)] = s
	case has == nil:
		return api.NO_SUCH_ENTRY
	default:
		if has.table != nil {
			n.releaseTable(has.table)
		}
		delete(t.sessions, string(key))
	}
	return ok
}

// use puts the node of a hook into the path of an interface. Where one has a table, another one is
// ignored.
func (n *classifier) use(hook classifyHook, index ifIndex, tables []uint32, add bool) retval {
	if n.byIndex(index) == nil {
		return api.INVALID_SW_IF_INDEX
	}
	for kind, table := range tables {
		at := classifyUse{hook, kind, uint32(index)}
		has, used := n.uses[at]
		if table == none {
			continue
		}
		if n.tables.at(table) == nil {
			return api.NO_SUCH_TABLE
		}
		n.shown[classifyUse{hook: hook, kind: kind}] = true
		switch {
		case !add && (!used || has != table):
			return api.NO_SUCH_TABLE
		case add && used:
			return ok
		case add:
			n.uses[at] = table
		default:
			delete(n.uses, at)
		}
		n.setNode(at, add)
		if classifyKinds()[kind] == "l2" {
			n.setLayer2(index, fmt.Sprint("classifier-", hook), add)
		}
	}
	return ok
}

// setNode sets what is in the path of IP packets.
func (n *classifier) setNode(at classifyUse, on bool) {
	if node, has := at.hook.node(classifyKinds()[at.kind]); has {
		n.arcs.set(at.index, node, on)
	}
}

func (n *classifier) commands() []cmdline.Command {
	show := func(path string, hook classifyHook, none, unknown string) cmdline.Command {
		return cmdline.Command{Path: path, Run: func(in *cmdline.Input) error { return n.show(in, hook, none, unknown) }}
	}
	const tables = "No tables configured."
	return []cmdline.Command{
		show("show inacl type", inputACL, "No input ACL tables configured", "unknown type of input ACL"),
		show("show outacl type", outputACL, "No output ACL tables configured", "unknown type of output ACL"),
		show("show classify policer type", classifyPolicer, tables, "Type must be specified."),
		show("show classify flow type", classifyFlow, tables, "Type must be specified."),
	}
}

// show shows the tables of a type.
func (n *classifier) show(in *cmdline.Input, hook classifyHook, none, unknown string) error {
	kind := slices.Index(classifyKinds(), in.Next())
	switch {
	case kind < 0, hook == classifyFlow && classifyKinds()[kind] == "l2":
		return errors.New(unknown)
	case !n.shown[classifyUse{hook: hook, kind: kind}]:
		in.Line("%s", none)
		return nil
	}
	in.Line("%10s%20s\t\t%s", "Intfc idx", "Classify table", "Interface name")
	for index, i := range n.ifs.all() {
		if table, used := n.uses[classifyUse{hook, kind, index}]; used {
			in.Line("%10d%20d\t\t%s", index, table, i.name())
		}
	}
	return nil
}

func (n *classifier) dump(b *strings.Builder) {
	var lines []string
	for index, t := range n.tables.all() {
		c := t.config
		lines = append(lines, fmt.Sprintf("classifier table %d mask %x skip %d buckets %d memory %d next %d miss %d current %d %d\n",
			index, c.Mask, c.SkipNVectors, c.Nbuckets, c.MemorySize, c.NextTableIndex, c.MissNextIndex, c.CurrentDataFlag, c.CurrentDataOffset))
		for key, s := range t.sessions {
			lines = append(lines, fmt.Sprintf("classifier table %d match %s next %d opaque %d advance %d action %s %d\n",
				index, hex.EncodeToString([]byte(key)), s.config.HitNextIndex, s.config.OpaqueIndex, s.config.Advance, s.config.Action, s.config.Metadata))
		}
	}
	for at, table := range n.uses {
		lines = append(lines, fmt.Sprintf("classifier on %s hook %d %s table %d\n", n.orStaleIf(at.index), at.hook, classifyKinds()[at.kind], table))
	}
	dumpSorted(b, lines)
}

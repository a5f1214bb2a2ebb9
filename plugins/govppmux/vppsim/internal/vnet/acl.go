package vnet

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/acl"
	"go.fd.io/govpp/binapi/acl_types"
	"go.fd.io/govpp/binapi/ip_types"
)

// failed is what VPP answers where it takes the error of a function for a truth value.
const failed = retval(1)

// acls are the lists of IP rules and their use on interfaces, which goes with the interface.
type acls struct {
	*VNet
	pool[acl.ACLDetails]
	in, out map[uint32][]uint32 // by interface
	lookups map[uint32]int      // by other features, by list
	counts  bool                // the packets that rules match
}

func newAcls(n *VNet) feature {
	n.acls = &acls{VNet: n}
	return n.acls
}

func (as *acls) register(server *wire.Server) {
	wire.Handle(server, func(_ *wire.Call, req *acl.ACLAddReplace) *acl.ACLAddReplaceReply {
		index, rv := as.set(req)
		return &acl.ACLAddReplaceReply{Retval: int32(rv), ACLIndex: index}
	})
	handle[acl.ACLDelReply](server, as.delete)
	handle[acl.ACLStatsIntfCountersEnableReply](server, func(req *acl.ACLStatsIntfCountersEnable) retval {
		as.counts = req.Enable
		return ok
	})
	handle[acl.ACLInterfaceAddDelReply](server, as.addDel)
	handle[acl.ACLInterfaceSetACLListReply](server, as.setAll)
	wire.HandleDump(server, func(c *wire.Call, req *acl.ACLDump) {
		for index, l := range as.all() {
			if selects(ifIndex(req.ACLIndex), index) {
				c.Send(l)
			}
		}
	})
	wire.HandleDump(server, func(c *wire.Call, req *acl.ACLInterfaceListDump) {
		for _, i := range as.ifs.all() {
			if selects(req.SwIfIndex, i.index) {
				in, out := as.in[i.index], as.out[i.index]
				c.Send(&acl.ACLInterfaceListDetails{
					SwIfIndex: ifIndex(i.index), NInput: uint8(len(in)), Acls: slices.Concat(in, out),
				})
			}
		}
	})
}

func (as *acls) reset() {
	as.pool, as.counts = pool[acl.ACLDetails]{}, false
	as.in, as.out, as.lookups = map[uint32][]uint32{}, map[uint32][]uint32{}, map[uint32]int{}
}

// set is acl_add_list in src/plugins/acl/acl.c.
func (as *acls) set(req *acl.ACLAddReplace) (uint32, retval) {
	for n := range req.R {
		if rv := badRule(&req.R[n]); rv != ok {
			return req.ACLIndex, rv
		}
	}
	l := &acl.ACLDetails{ACLIndex: req.ACLIndex, Tag: req.Tag, R: slices.Clone(req.R)}
	if req.ACLIndex == none {
		l.ACLIndex = as.next()
		return as.add(l), ok
	}
	if as.at(req.ACLIndex) == nil {
		return req.ACLIndex, api.NO_SUCH_ENTRY
	}
	as.items[req.ACLIndex] = l
	return req.ACLIndex, ok
}

// badRule returns VPP's verdict on a rule. VPP 22.10 does not compare the families.
func badRule(r *acl_types.ACLRule) retval {
	switch {
	case badPrefix(r.SrcPrefix):
		return api.INVALID_SRC_ADDRESS
	case badPrefix(r.DstPrefix):
		return api.INVALID_DST_ADDRESS
	case r.SrcPrefix.Address.Af != r.DstPrefix.Address.Af:
		return api.INVALID_SRC_ADDRESS
	case r.SrcportOrIcmptypeFirst > r.SrcportOrIcmptypeLast, r.DstportOrIcmpcodeFirst > r.DstportOrIcmpcodeLast:
		return api.INVALID_VALUE_2
	}
	return ok
}

// badPrefix reports a prefix of no family, that is too long, or has host bits.
func badPrefix(p ip_types.Prefix) bool {
	if p.Address.Af != ip_types.ADDRESS_IP4 && p.Address.Af != ip_types.ADDRESS_IP6 {
		return true
	}
	prefix := netip.PrefixFrom(addrOf(p.Address), int(p.Len))
	return !prefix.IsValid() || prefix != prefix.Masked()
}

func (as *acls) delete(req *acl.ACLDel) retval {
	uses := func(on map[uint32][]uint32) bool {
		for _, lists := range on {
			if slices.Contains(lists, req.ACLIndex) {
				return true
			}
		}
		return false
	}
	switch {
	case as.at(req.ACLIndex) == nil:
		return api.NO_SUCH_ENTRY
	case uses(as.in):
		return api.ACL_IN_USE_INBOUND
	case uses(as.out):
		return api.ACL_IN_USE_OUTBOUND
	case as.lookups[req.ACLIndex] > 0:
		return api.ACL_IN_USE_BY_LOOKUP_CONTEXT
	}
	as.remove(req.ACLIndex)
	return ok
}

func (as *acls) addDel(req *acl.ACLInterfaceAddDel) retval {
	if as.byIndex(req.SwIfIndex) == nil {
		return api.INVALID_SW_IF_INDEX
	}
	feature, on, used := "acl-out", as.out, retval(api.ACL_IN_USE_OUTBOUND)
	if req.IsInput {
		feature, on, used = "acl-in", as.in, api.ACL_IN_USE_INBOUND
	}
	index := uint32(req.SwIfIndex)
	at := slices.Index(on[index], req.ACLIndex)
	switch {
	case !req.IsAdd && at < 0:
		return api.NO_SUCH_ENTRY
	case !req.IsAdd:
		return as.apply(feature, on, index, slices.Delete(slices.Clone(on[index]), at, at+1))
	case at >= 0:
		return used
	}
	return as.apply(feature, on, index, append(slices.Clone(on[index]), req.ACLIndex))
}

// setAll answers 1 whatever is wrong with the lists of a direction, and sets those for sent
// packets first.
func (as *acls) setAll(req *acl.ACLInterfaceSetACLList) retval {
	if as.byIndex(req.SwIfIndex) == nil {
		return api.INVALID_SW_IF_INDEX
	}
	for _, list := range req.Acls {
		if as.at(list) == nil {
			return api.NO_SUCH_ENTRY
		}
	}
	inputs := min(int(req.NInput), len(req.Acls))
	index := uint32(req.SwIfIndex)
	if as.apply("acl-out", as.out, index, req.Acls[inputs:]) != ok || as.apply("acl-in", as.in, index, req.Acls[:inputs]) != ok {
		return failed
	}
	return ok
}

// apply sets the lists of a direction, a feature, of an interface.
func (as *acls) apply(feature string, on map[uint32][]uint32, index uint32, lists []uint32) retval {
	seen := map[uint32]bool{}
	for _, list := range lists {
		switch {
		case as.at(list) == nil:
			return api.NO_SUCH_ENTRY
		case seen[list]:
			return api.ENTRY_ALREADY_EXISTS
		}
		seen[list] = true
	}
	if had := len(on[index]) > 0; had != (len(lists) > 0) {
		as.setLayer2(ifIndex(index), feature, !had)
	}
	on[index] = slices.Clone(lists)
	return ok
}

func (as *acls) interfaceRemoved(i *swInterface) {
	delete(as.in, i.index)
	delete(as.out, i.index)
}

func (as *acls) dumpInterface(b *strings.Builder, i *swInterface) {
	for _, direction := range []struct {
		name  string
		lists []uint32
	}{{"in", as.in[i.index]}, {"out", as.out[i.index]}} {
		if len(direction.lists) > 0 {
			fmt.Fprintf(b, "  acl %s %s\n", direction.name, as.tags(direction.lists))
		}
	}
}

// tags names lists by what they have in common with those that are made in another order.
func (as *acls) tags(lists []uint32) string {
	var tags []string
	for _, list := range lists {
		if l := as.at(list); l != nil {
			tags = append(tags, fmt.Sprintf("%q", l.Tag))
		} else {
			tags = append(tags, "stale")
		}
	}
	return strings.Join(tags, " ")
}

func (as *acls) dump(b *strings.Builder) {
	var lines []string
	for _, l := range as.all() {
		lines = append(lines, fmt.Sprintf("acl %q rules %v\n", l.Tag, l.R))
	}
	dumpSorted(b, lines)
}

// macipACLs are the lists of rules for MAC addresses. An interface has at most one.
type macipACLs struct {
	*VNet
	pool[acl.MacipACLDetails]
	applied map[uint32]uint32 // by interface
	known   uint32            // no interface from this index on had one
}

func newMacipACLs(n *VNet) feature { return &macipACLs{VNet: n} }

func (ms *macipACLs) register(server *wire.Server) {
	wire.Handle(server, func(_ *wire.Call, req *acl.MacipACLAdd) *acl.MacipACLAddReply {
		index, rv := ms.set(none, req.Tag, req.R)
		return &acl.MacipACLAddReply{Retval: int32(rv), ACLIndex: index}
	})
	wire.Handle(server, func(_ *wire.Call, req *acl.MacipACLAddReplace) *acl.MacipACLAddReplaceReply {
		index, rv := ms.set(req.ACLIndex, req.Tag, req.R)
		return &acl.MacipACLAddReplaceReply{Retval: int32(rv), ACLIndex: index}
	})
	handle[acl.MacipACLDelReply](server, ms.delete)
	handle[acl.MacipACLInterfaceAddDelReply](server, ms.addDel)
	wire.HandleDump(server, func(c *wire.Call, req *acl.MacipACLDump) {
		for index, l := range ms.all() {
			if selects(ifIndex(req.ACLIndex), index) {
				c.Send(l)
			}
		}
	})
	wire.HandleDump(server, ms.sendApplied)
}

func (ms *macipACLs) reset() {
	ms.pool, ms.applied, ms.known = pool[acl.MacipACLDetails]{}, map[uint32]uint32{}, 0
}

// set looks at nothing in the rules, as VPP does.
func (ms *macipACLs) set(index uint32, tag string, rules []acl_types.MacipACLRule) (uint32, retval) {
	l := &acl.MacipACLDetails{ACLIndex: index, Tag: tag, R: slices.Clone(rules)}
	if index == none {
		l.ACLIndex = ms.next()
		return ms.add(l), ok
	}
	if ms.at(index) == nil {
		return index, api.NO_SUCH_ENTRY
	}
	ms.items[index] = l
	return index, ok
}

// delete takes the list from the interfaces that have it.
func (ms *macipACLs) delete(req *acl.MacipACLDel) retval {
	if ms.at(req.ACLIndex) == nil {
		return api.NO_SUCH_ENTRY
	}
	for index, list := range ms.applied {
		if list == req.ACLIndex {
			delete(ms.applied, index)
		}
	}
	ms.remove(req.ACLIndex)
	return ok
}

// addDel replaces a list that is there, and takes away whichever is.
func (ms *macipACLs) addDel(req *acl.MacipACLInterfaceAddDel) retval {
	index := uint32(req.SwIfIndex)
	_, has := ms.applied[index]
	switch {
	case ms.byIndex(req.SwIfIndex) == nil:
		return api.INVALID_SW_IF_INDEX
	case !req.IsAdd && !has, req.IsAdd && ms.at(req.ACLIndex) == nil:
		return api.NO_SUCH_ENTRY
	case !req.IsAdd:
		delete(ms.applied, index)
		ms.setLayer2(req.SwIfIndex, "macip-acl", false)
		return ok
	}
	if !has {
		ms.setLayer2(req.SwIfIndex, "macip-acl", true)
	}
	ms.applied[index] = req.ACLIndex
	ms.known = max(ms.known, index+1)
	return ok
}

// sendApplied answers for an interface without a list, too, if it could have had one.
func (ms *macipACLs) sendApplied(c *wire.Call, req *acl.MacipACLInterfaceListDump) {
	for index := range ms.known {
		list, has := ms.applied[index]
		if !has {
			list = math.MaxUint32
		}
		if has && selects(req.SwIfIndex, index) || uint32(req.SwIfIndex) == index {
			c.Send(&acl.MacipACLInterfaceListDetails{SwIfIndex: ifIndex(index), Acls: []uint32{list}})
		}
	}
}

func (ms *macipACLs) interfaceRemoved(i *swInterface) { delete(ms.applied, i.index) }

func (ms *macipACLs) dumpInterface(b *strings.Builder, i *swInterface) {
	if list, has := ms.applied[i.index]; has {
		fmt.Fprintf(b, "  macip acl %q\n", ms.at(list).Tag)
	}
}

func (ms *macipACLs) dump(b *strings.Builder) {
	var lines []string
	for _, l := range ms.all() {
		lines = append(lines, fmt.Sprintf("macip acl %q rules %v\n", l.Tag, l.R))
	}
	dumpSorted(b, lines)
}

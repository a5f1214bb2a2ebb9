package vnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/abf"
	"go.fd.io/govpp/binapi/fib_types"
)

// abfPolicy is a policy of ACL-based forwarding.
type abfPolicy struct {
	id, acl uint32
	paths   *fib.PathList
}

// abfs are the policies and their use on interfaces, which is not cleaned up behind them.
type abfs struct {
	*VNet
	pool[abfPolicy]
	attached pool[abf.AbfItfAttach]
}

func newAbfs(n *VNet) feature { return &abfs{VNet: n} }

func (as *abfs) register(server *wire.Server) {
	handle[abf.AbfPolicyAddDelReply](server, as.addDel)
	handle[abf.AbfItfAttachAddDelReply](server, as.attachDetach)
	wire.HandleDump(server, func(c *wire.Call, _ *abf.AbfPolicyDump) {
		for _, p := range as.all() {
			c.Send(&abf.AbfPolicyDetails{Policy: abf.AbfPolicy{PolicyID: p.id, ACLIndex: p.acl, Paths: p.encoded()}})
		}
	})
	wire.HandleDump(server, func(c *wire.Call, _ *abf.AbfItfAttachDump) {
		for _, a := range as.attached.all() {
			c.Send(&abf.AbfItfAttachDetails{Attach: *a})
		}
	})
}

func (as *abfs) reset() { as.pool, as.attached = pool[abfPolicy]{}, pool[abf.AbfItfAttach]{} }

func (p *abfPolicy) encoded() (out []fib_types.FibPath) {
	for _, path := range p.paths.Paths() {
		out = append(out, path.Encode())
	}
	return out
}

func (as *abfs) find(id uint32) (uint32, *abfPolicy) {
	return as.pool.find(func(p *abfPolicy) bool { return p.id == id })
}

// addDel does not look whether the list of rules exists.
func (as *abfs) addDel(req *abf.AbfPolicyAddDel) retval {
	if len(req.Policy.Paths) == 0 {
		return api.INVALID_VALUE
	}
	paths := make([]fib.Path, len(req.Policy.Paths))
	for n := range req.Policy.Paths {
		p, rv := as.fibs.Decode(&req.Policy.Paths[n], netip.PrefixFrom(netip.IPv4Unspecified(), 0), as.inUse)
		if rv != ok {
			return rv
		}
		paths[n] = p
	}
	index, p := as.find(req.Policy.PolicyID)
	switch {
	case req.IsAdd && p == nil:
		as.add(&abfPolicy{id: req.Policy.PolicyID, acl: req.Policy.ACLIndex, paths: as.fibs.NewPathList(paths)})
	case p == nil, req.IsAdd && p.acl != req.Policy.ACLIndex:
		return api.INVALID_VALUE
	case req.IsAdd:
		as.setPaths(p, append(without(paths, p.paths.Paths()), p.paths.Paths()...))
	default:
		if as.setPaths(p, without(p.paths.Paths(), paths)); len(p.paths.Paths()) == 0 {
			as.remove(index)
		}
	}
	return ok
}

// without returns the paths that are not the same as any of others.
func without(paths, others []fib.Path) []fib.Path {
	return slices.DeleteFunc(slices.Clone(paths), func(p fib.Path) bool { return slices.ContainsFunc(others, p.Same) })
}

func (as *abfs) setPaths(p *abfPolicy, paths []fib.Path) {
	old := p.paths
	p.paths = as.fibs.NewPathList(paths)
	as.fibs.DeletePathList(old)
}

// attachDetach refuses what VPP does not check: it crashes if there is no such policy, or if
// one is detached for the other version of IP.
func (as *abfs) attachDetach(req *abf.AbfItfAttachAddDel) retval {
	want := req.Attach
	index, has := as.attached.find(func(a *abf.AbfItfAttach) bool {
		return a.PolicyID == want.PolicyID && a.SwIfIndex == want.SwIfIndex
	})
	_, p := as.find(want.PolicyID)
	switch {
	case !req.IsAdd && (has == nil || has.IsIPv6 != want.IsIPv6):
		return api.NO_SUCH_ENTRY
	case !req.IsAdd:
		as.attached.remove(index)
		as.acls.lookups[p.acl]--
	case has != nil:
		return api.ENTRY_ALREADY_EXISTS
	case p == nil:
		return api.INVALID_VALUE
	default:
		as.attached.add(&want)
		as.acls.lookups[p.acl]++
	}
	return ok
}

func (as *abfs) dump(b *strings.Builder) {
	var lines []string
	for _, p := range as.all() {
		line := fmt.Sprintf("abf %d acl %s", p.id, as.acls.tags([]uint32{p.acl}))
		for _, path := range p.encoded() {
			line += " " + describePath(&path)
		}
		lines = append(lines, line+"\n")
	}
	for _, a := range as.attached.all() {
		lines = append(lines, fmt.Sprintf("abf %d on %s priority %d ipv6 %t\n", a.PolicyID, as.orStaleIf(uint32(a.SwIfIndex)), a.Priority, a.IsIPv6))
	}
	dumpSorted(b, lines)
}

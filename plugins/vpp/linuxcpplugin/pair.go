package linuxcpplugin

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/lcp"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	linuxcp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/linuxcp"
)

// pair is a pair as VPP has it.
type pair struct {
	iface     interface_types.InterfaceIndex
	host      string
	typ       lcp.LcpItfHostType
	namespace string // "" of the configuration is the default one; VPP lists which
	inDefault bool   // listed with the default namespace
}

var pairs = item.Declare("LCP pair", "linux-cp",
	item.Variant[pair]{
		Change: func(p pair, add bool) (request, reply api.Message) {
			return &lcp.LcpItfPairAddDelV3{
				IsAdd: add, SwIfIndex: p.iface, HostIfName: p.host, HostIfType: p.typ, Netns: p.namespace,
			}, &lcp.LcpItfPairAddDelV3Reply{}
		},
		Dumps: listPairs,
	},
	item.Variant[pair]{
		Change: func(p pair, add bool) (request, reply api.Message) {
			return &lcp.LcpItfPairAddDelV2{
				IsAdd: add, SwIfIndex: p.iface, HostIfName: p.host, HostIfType: p.typ, Netns: p.namespace,
			}, &lcp.LcpItfPairAddDelV2Reply{}
		},
		Dumps: listPairs,
	},
)

// listPairs does not use the newer request, which VPP answers as the older one
// (src/plugins/linux-cp/lcp_api.c).
var listPairs = []item.Dump[pair]{item.Completed(
	item.ListFrom[lcp.LcpItfPairGet, lcp.LcpItfPairGetReply](func(d *lcp.LcpItfPairDetails) (pair, bool) {
		return pair{iface: d.PhySwIfIndex, host: d.HostIfName, typ: d.HostIfType, namespace: d.Netns}, true
	}), noteDefault,
)}

// noteDefault notes which pairs are in the default namespace.
func noteDefault(ctx context.Context, vpp *session.VPP, all []pair) error {
	if !slices.ContainsFunc(all, func(p pair) bool { return p.namespace != "" }) {
		return nil
	}
	s, _, err := global{vpp}.read(ctx)
	for i := range all {
		all[i].inDefault = all[i].namespace == s.namespace
	}
	return err
}

// without returns the pair as it is compared with another one: if the other one is configured without a
// namespace, the default namespace counts as none.
func (p pair) without(other pair) pair {
	if p.inDefault && other.namespace == "" {
		p.namespace = ""
	}
	p.inDefault = false
	return p
}

const (
	maxHostName  = 15
	maxNamespace = 31
)

// hostName is what VPP accepts as the name of a host interface.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_%@:.-]+$`)

// NewPair describes pairs. VPP deletes a pair with its interface, and makes pairs itself if it is
// asked to; those that are not expected are of unknown origin.
func NewPair(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*linuxcp.Pair, pair, interface_types.InterfaceIndex]{
		Name: PairName, Model: PairModel, Operation: pairs,
		Resolve: resolvePair,
		Identities: func(v *linuxcp.Pair) []string {
			return []string{"linuxcp/" + v.GetNamespace() + "/" + v.GetHostInterface()}
		},
		ID: func(p pair) interface_types.InterfaceIndex { return p.iface },
		Value: func(n *item.Names, p pair) *linuxcp.Pair {
			return &linuxcp.Pair{
				Interface: n.Interface(p.iface), HostInterface: p.host, Type: linuxcp.Pair_Type(p.typ), Namespace: p.namespace,
			}
		},
		Equal: func(a, b pair) bool {
			return a.without(b) == b.without(a)
		},
		Learned: func(pair) bool { return false },
		Exists:  []api.VPPApiError{api.VALUE_EXIST, api.INVALID_INTERFACE}, // the latter before VPP 24.02
		Explain: map[api.VPPApiError]string{
			api.INVALID_SW_IF_INDEX: "interface: a sub-interface needs parent, with a pair",
			api.INVALID_ARGUMENT:    "type: an interface without Ethernet needs TUN; a sub-interface needs exact_match",
			api.SYSCALL_ERROR_2:     "VPP cannot create a TAP: it needs /dev/vhost-net, and a network namespace that exists",
		},
	})
}

func resolvePair(r *item.Resolver, v *linuxcp.Pair) pair {
	p := pair{
		iface: r.Interface("interface", v.GetInterface()), host: v.GetHostInterface(),
		typ: lcp.LcpItfHostType(v.GetType()), namespace: v.GetNamespace(),
	}
	r.Enum("type", v.GetType())
	if len(p.host) > maxHostName || !hostName.MatchString(p.host) {
		r.Fail("host_interface", "%q, expected 1 to %d letters, digits and -_%%@:.", p.host, maxHostName)
	}
	checkNamespace(r, "namespace", p.namespace)
	if p.namespace == "" {
		r.DependsOn("linuxcp-global-exists", GlobalModel.Key(nil))
	}
	if parent := v.GetParent(); parent != "" {
		r.DependsOn("parent-pair-exists", PairModel.KeyFor(parent))
	}
	return p
}

func checkNamespace(r *item.Resolver, field, name string) {
	if len(name) > maxNamespace || strings.ContainsAny(name, "/ \t\n") {
		r.Fail(field, "%q, expected the name of a network namespace, at most %d characters", name, maxNamespace)
	}
}

package descriptor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	l2api "go.fd.io/govpp/binapi/l2"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/vppcalls"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// A bridge domain is known to VPP by a number, which this agent chooses, and
// carries the name of the configuration in its tag: one without tag was made by
// another process. Its interfaces are derived values, so that it exists whichever
// of them do; VPP refuses to delete it while it has any. All parameters can be
// changed in place.
//
// It is no item.Object: the agent chooses the number, and a bridge domain takes several requests.

// maxTag is the longest name, in bytes.
const maxTag = 63

// bridgeDomain is what VPP has of a bridge domain, but for its interfaces.
type bridgeDomain struct {
	params  vppcalls.BridgeDomain
	answers []vppcalls.ARPAnswer
}

type bridgeDomainDescriptor struct {
	*item.Resolution[*l2.BridgeDomain, bridgeDomain]
	vpp *vppcalls.Calls
	ifs item.Interfaces
}

type bridgeDomainKV = kvs.KV[*l2.BridgeDomain, *BDMeta]

// NewBridgeDomain describes bridge domains.
func NewBridgeDomain(vpp *vppcalls.Calls, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &bridgeDomainDescriptor{&item.Resolution[*l2.BridgeDomain, bridgeDomain]{Resolve: resolveBridgeDomain}, vpp, ifs}
	return kvs.Adapt(kvs.Describe(model.BridgeDomainModel, kvs.Descriptor[*l2.BridgeDomain, *BDMeta]{
		Name:          BridgeDomainName,
		Southbound:    item.Southbound,
		WithMetadata:  true,
		Validate:      d.Validate,
		DerivedValues: memberValues,
		ValueComparator: func(_ string, a, b *l2.BridgeDomain) bool {
			x, y, ok := d.Both(a, b)
			return ok && x.params == y.params && item.SameParts(x.answers, y.answers)
		},
		CreateContext:        d.create,
		UpdateContext:        d.update,
		DeleteContext:        d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{item.InterfaceName},
	}))
}

func resolveBridgeDomain(r *item.Resolver, bd *l2.BridgeDomain) bridgeDomain {
	switch name := bd.GetName(); {
	case name == "" || len(name) > maxTag:
		r.Fail("name", "%q has %d bytes, expected 1 to %d", name, len(name), maxTag)
	case strings.Contains(name, "/interface/") || strings.HasSuffix(name, "/interface"):
		r.Fail("name", "%q contains the reserved element \"interface\"", name)
	}
	checkMembers(r, bd)
	return bridgeDomain{answers: resolveAnswers(r, bd), params: vppcalls.BridgeDomain{
		BdTag: bd.GetName(), Flood: bd.GetFlood(), UuFlood: bd.GetUnknownUnicastFlood(), Forward: bd.GetForward(),
		Learn: bd.GetLearn(), ArpTerm: bd.GetArpTermination(), MacAge: uint8(bd.GetMacAge()),
	}}
}

// checkMembers looks at the interfaces, which are values of their own.
func checkMembers(r *item.Resolver, bd *l2.BridgeDomain) {
	bvi, seen := "", map[string]bool{}
	for n, m := range bd.GetInterfaces() {
		field, name := fmt.Sprintf("interfaces[%d]", n), m.GetName()
		if seen[name] {
			r.Fail(field+".name", "%q is listed twice", name)
		}
		seen[name] = true
		if m.GetBridgedVirtualInterface() {
			if bvi != "" {
				r.Fail(field+".bridged_virtual_interface", "%q is the BVI already, expected at most one", bvi)
			}
			bvi = name
		}
	}
}

func resolveAnswers(r *item.Resolver, bd *l2.BridgeDomain) []vppcalls.ARPAnswer {
	var out []vppcalls.ARPAnswer
	seen := map[netip.Addr]bool{}
	for n, e := range bd.GetArpTerminationTable() {
		field := fmt.Sprintf("arp_termination_table[%d]", n)
		mac := r.MAC(field+".phys_address", e.GetPhysAddress())
		addr, err := ipconv.ParseAddr(e.GetIpAddress())
		switch {
		case err != nil:
			r.Fail(field+".ip_address", "%w", err)
		case seen[addr]:
			r.Fail(field+".ip_address", "%s is listed twice", addr)
		}
		seen[addr] = true
		out = append(out, vppcalls.ARPAnswer{IP: ipconv.Address(addr), Mac: mac})
	}
	return out
}

// memberValues are the interfaces.
func memberValues(_ string, bd *l2.BridgeDomain) []kvs.KeyValuePair {
	out := make([]kvs.KeyValuePair, 0, len(bd.GetInterfaces()))
	for _, m := range bd.GetInterfaces() {
		out = append(out, kvs.KeyValuePair{Key: model.BDInterfaceKey.Key(bd.GetName(), m.GetName()), Value: m})
	}
	return out
}

func (d *bridgeDomainDescriptor) create(ctx context.Context, _ string, bd *l2.BridgeDomain) (*BDMeta, error) {
	wanted, err := d.Live(bd)
	if err != nil {
		return nil, err
	}
	id, err := d.vpp.CreateBridgeDomain(ctx, wanted.params)
	if err != nil {
		return nil, err
	}
	if err := d.setAnswers(ctx, id, wanted.answers, true); err != nil {
		return nil, errors.Join(err, d.vpp.DeleteBridgeDomain(ctx, id)) // leave nothing half-made
	}
	return &BDMeta{id}, nil
}

func (d *bridgeDomainDescriptor) setAnswers(ctx context.Context, id uint32, answers []vppcalls.ARPAnswer, add bool) error {
	for _, answer := range answers {
		if err := d.vpp.SetARPAnswer(ctx, id, answer, add); err != nil {
			return err
		}
	}
	return nil
}

func (d *bridgeDomainDescriptor) update(ctx context.Context, _ string, old, bd *l2.BridgeDomain, m *BDMeta) (*BDMeta, error) {
	if m == nil {
		return nil, fmt.Errorf("bridge domain %q is not known to exist in VPP", bd.GetName())
	}
	wanted, err := d.Live(bd)
	if err != nil {
		return m, err
	}
	has, _ := d.Live(old) // VPP may have what no value may say
	if err := d.vpp.UpdateBridgeDomain(ctx, m.ID, has.params, wanted.params); err != nil {
		return m, err
	}
	if err := d.setAnswers(ctx, m.ID, item.Without(has.answers, wanted.answers), false); err != nil {
		return m, err
	}
	return m, d.setAnswers(ctx, m.ID, item.Without(wanted.answers, has.answers), true)
}

func (d *bridgeDomainDescriptor) remove(ctx context.Context, _ string, bd *l2.BridgeDomain, m *BDMeta) error {
	if m != nil {
		return d.vpp.DeleteBridgeDomain(ctx, m.ID)
	}
	all, err := d.vpp.DumpBridgeDomains(ctx)
	if err != nil {
		return err
	}
	for _, found := range all {
		if found.BdTag == bd.GetName() {
			return d.vpp.DeleteBridgeDomain(ctx, found.BdID)
		}
	}
	return nil // nothing there: nothing to delete
}

// retrieve returns the bridge domains with a tag, with the members that have a name; the others are
// foreign parts. A name that VPP has more than once is returned once, the
// rest with a suffix, so that they are removed.
func (d *bridgeDomainDescriptor) retrieve(ctx context.Context, _ []bridgeDomainKV) ([]bridgeDomainKV, error) {
	all, err := d.vpp.DumpBridgeDomains(ctx)
	if err != nil {
		return nil, err
	}
	answers, err := d.vpp.DumpARPAnswers(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[string]int{}
	var out []bridgeDomainKV
	snapshot := d.ifs.Snapshot(ctx)
	var others item.Foreign[*l2.BridgeDomain, *BDMeta]
	for _, found := range all {
		if found.BdTag == "" {
			continue
		}
		bd := describe(found, answers[found.BdID])
		if seen[bd.Name]++; seen[bd.Name] > 1 {
			bd.Name = fmt.Sprintf("%s-DUPLICATE%d", bd.Name, seen[bd.Name])
		}
		key := model.BridgeDomainModel.Key(bd)
		for _, m := range found.SwIfDetails {
			if name, ok := others.Interface(snapshot, uint32(m.SwIfIndex), key, &l2.BridgeDomain{Name: bd.Name}); ok {
				bd.Interfaces = append(bd.Interfaces, &l2.BridgeDomain_Interface{
					Name: name, BridgedVirtualInterface: m.SwIfIndex == found.BviSwIfIndex, SplitHorizonGroup: uint32(m.Shg),
				})
			}
		}
		out = append(out, bridgeDomainKV{Key: key, Value: bd, Metadata: &BDMeta{found.BdID}, Origin: kvs.FromNB})
	}
	return append(out, others.All...), snapshot.Err()
}

// bridgeSettings are the settings of a bridge domain that the model lacks.
type bridgeSettings struct {
	ArpUfwd        bool
	UuFwdSwIfIndex uint32
}

func settingsOf(d *l2api.BridgeDomainDetails) bridgeSettings {
	return bridgeSettings{d.ArpUfwd, uint32(d.UuFwdSwIfIndex)}
}

// describe translates what VPP has of a bridge domain, but for its interfaces.
func describe(found *l2api.BridgeDomainDetails, answers []vppcalls.ARPAnswer) *l2.BridgeDomain {
	bd := &l2.BridgeDomain{
		Name: found.BdTag, Flood: found.Flood, UnknownUnicastFlood: found.UuFlood, Forward: found.Forward,
		Learn: found.Learn, ArpTermination: found.ArpTerm, MacAge: uint32(found.MacAge),
	}
	kvs.AddUnmodeled(bd, item.Unmodeled(settingsOf(found), bridgeSettings{UuFwdSwIfIndex: item.NoInterface})...)
	for _, a := range answers {
		bd.ArpTerminationTable = append(bd.ArpTerminationTable, &l2.BridgeDomain_ArpTerminationEntry{
			IpAddress: item.Addr(a.IP), PhysAddress: a.Mac.String(),
		})
	}
	return bd
}

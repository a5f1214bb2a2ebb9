package descriptor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
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

// bridgeDomainCalls is what bridge domains need of VPP.
type bridgeDomainCalls interface {
	CreateBridgeDomain(ctx context.Context, bd vppcalls.BridgeDomain) (id uint32, err error)
	UpdateBridgeDomain(ctx context.Context, id uint32, old, bd vppcalls.BridgeDomain) error
	DeleteBridgeDomain(ctx context.Context, id uint32) error
	DumpBridgeDomains(ctx context.Context) ([]vppcalls.BridgeDomainDetails, error)
	SetARPAnswer(ctx context.Context, id uint32, a vppcalls.ARPAnswer, add bool) error
	DumpARPAnswers(ctx context.Context) (map[uint32][]vppcalls.ARPAnswer, error)
}

const (
	// maxTag is the longest name, in bytes.
	maxTag = 63
	// maxByte is the largest value of numbers that VPP keeps in a byte.
	maxByte = 255
)

type bridgeDomainDescriptor struct {
	vpp bridgeDomainCalls
	ifs item.Interfaces
}

type bridgeDomainKV = kvs.KV[*l2.BridgeDomain, *BDMeta]

// NewBridgeDomain describes bridge domains.
func NewBridgeDomain(vpp bridgeDomainCalls, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &bridgeDomainDescriptor{vpp, ifs}
	return kvs.Adapt(kvs.Describe(model.BridgeDomainModel, kvs.Descriptor[*l2.BridgeDomain, *BDMeta]{
		Name:                 BridgeDomainName,
		Southbound:           item.Southbound,
		WithMetadata:         true,
		Validate:             validateBridgeDomain,
		DerivedValues:        memberValues,
		ValueComparator:      sameBridgeDomain,
		CreateContext:        d.create,
		UpdateContext:        d.update,
		DeleteContext:        d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{item.InterfaceName},
	}))
}

func validateBridgeDomain(_ string, bd *l2.BridgeDomain) error {
	var errs []error
	switch name := bd.GetName(); {
	case name == "" || len(name) > maxTag:
		errs = append(errs, item.Invalid("name", "%q has %d bytes, expected 1 to %d", name, len(name), maxTag))
	case strings.Contains(name, "/interface/") || strings.HasSuffix(name, "/interface"):
		errs = append(errs, item.Invalid("name", "%q contains the reserved element \"interface\"", name))
	}
	if bd.GetMacAge() > maxByte {
		errs = append(errs, item.Invalid("mac_age", "%d minutes, expected 0 to %d", bd.GetMacAge(), maxByte))
	}
	return errors.Join(append(errs, validateMembers(bd), validateAnswers(bd))...)
}

func validateMembers(bd *l2.BridgeDomain) error {
	var errs []error
	bvi, seen := "", map[string]bool{}
	for n, m := range bd.GetInterfaces() {
		field := fmt.Sprintf("interfaces[%d]", n)
		switch {
		case m.GetName() == "":
			errs = append(errs, item.Invalid(field+".name", "empty, expected the name of an interface"))
		case seen[m.GetName()]:
			errs = append(errs, item.Invalid(field+".name", "%q is listed twice", m.GetName()))
		}
		seen[m.GetName()] = true
		if m.GetSplitHorizonGroup() > maxByte {
			errs = append(errs, item.Invalid(field+".split_horizon_group", "%d, expected 0 to %d", m.GetSplitHorizonGroup(), maxByte))
		}
		if m.GetBridgedVirtualInterface() {
			if bvi != "" {
				errs = append(errs, item.Invalid(field+".bridged_virtual_interface", "%q is the BVI already, expected at most one", bvi))
			}
			bvi = m.GetName()
		}
	}
	return errors.Join(errs...)
}

func validateAnswers(bd *l2.BridgeDomain) error {
	var errs []error
	seen := map[string]bool{}
	for n, e := range bd.GetArpTerminationTable() {
		field := fmt.Sprintf("arp_termination_table[%d]", n)
		addr, err := ipconv.ParseAddr(e.GetIpAddress())
		if err != nil {
			errs = append(errs, item.Invalid(field+".ip_address", "%w", err))
		} else if seen[addr.String()] {
			errs = append(errs, item.Invalid(field+".ip_address", "%s is listed twice", addr))
		}
		seen[addr.String()] = true
		if _, err := ipconv.ParseMAC(e.GetPhysAddress()); err != nil {
			errs = append(errs, item.Invalid(field+".phys_address", "%w", err))
		}
	}
	return errors.Join(errs...)
}

// memberValues are the interfaces.
func memberValues(_ string, bd *l2.BridgeDomain) []kvs.KeyValuePair {
	out := make([]kvs.KeyValuePair, 0, len(bd.GetInterfaces()))
	for _, m := range bd.GetInterfaces() {
		out = append(out, kvs.KeyValuePair{Key: model.BDInterfaceKey.Key(bd.GetName(), m.GetName()), Value: m})
	}
	return out
}

func sameBridgeDomain(_ string, a, b *l2.BridgeDomain) bool {
	return params(a) == params(b) && len(missingAnswers(a, b)) == 0 && len(missingAnswers(b, a)) == 0
}

func params(bd *l2.BridgeDomain) vppcalls.BridgeDomain {
	return vppcalls.BridgeDomain{
		Tag: bd.GetName(), Flood: bd.GetFlood(), UUFlood: bd.GetUnknownUnicastFlood(), Forward: bd.GetForward(),
		Learn: bd.GetLearn(), ARPTerm: bd.GetArpTermination(), MacAge: uint8(bd.GetMacAge()),
	}
}

// answers parses the table; what is invalid is never applied.
func answers(bd *l2.BridgeDomain) []vppcalls.ARPAnswer {
	out := make([]vppcalls.ARPAnswer, 0, len(bd.GetArpTerminationTable()))
	for _, e := range bd.GetArpTerminationTable() {
		addr, addrErr := ipconv.ParseAddr(e.GetIpAddress())
		mac, macErr := ipconv.ParseMAC(e.GetPhysAddress())
		if addrErr == nil && macErr == nil {
			out = append(out, vppcalls.ARPAnswer{Addr: addr, MAC: mac})
		}
	}
	return out
}

// missingAnswers are those of a that b does not have.
func missingAnswers(a, b *l2.BridgeDomain) []vppcalls.ARPAnswer {
	have := map[vppcalls.ARPAnswer]bool{}
	for _, answer := range answers(b) {
		have[answer] = true
	}
	return slices.DeleteFunc(answers(a), func(answer vppcalls.ARPAnswer) bool { return have[answer] })
}

func (d *bridgeDomainDescriptor) create(ctx context.Context, _ string, bd *l2.BridgeDomain) (*BDMeta, error) {
	id, err := d.vpp.CreateBridgeDomain(ctx, params(bd))
	if err != nil {
		return nil, err
	}
	for _, answer := range answers(bd) {
		if err := d.vpp.SetARPAnswer(ctx, id, answer, true); err != nil {
			return nil, errors.Join(err, d.vpp.DeleteBridgeDomain(ctx, id)) // leave nothing half-made
		}
	}
	return &BDMeta{id}, nil
}

func (d *bridgeDomainDescriptor) update(ctx context.Context, _ string, old, bd *l2.BridgeDomain, m *BDMeta) (*BDMeta, error) {
	if m == nil {
		return nil, fmt.Errorf("bridge domain %q is not known to exist in VPP", bd.GetName())
	}
	if err := d.vpp.UpdateBridgeDomain(ctx, m.ID, params(old), params(bd)); err != nil {
		return m, err
	}
	for _, gone := range missingAnswers(old, bd) {
		if err := d.vpp.SetARPAnswer(ctx, m.ID, gone, false); err != nil {
			return m, err
		}
	}
	for _, added := range missingAnswers(bd, old) {
		if err := d.vpp.SetARPAnswer(ctx, m.ID, added, true); err != nil {
			return m, err
		}
	}
	return m, nil
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
		if found.Tag == bd.GetName() {
			return d.vpp.DeleteBridgeDomain(ctx, found.ID)
		}
	}
	return nil // nothing there: nothing to delete
}

// retrieve returns the bridge domains with a tag, and of their members those
// that have a name. A name that VPP has more than once is returned once, the
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
	for _, found := range all {
		if found.Tag == "" {
			continue
		}
		bd := describe(found, answers[found.ID], snapshot)
		if seen[bd.Name]++; seen[bd.Name] > 1 {
			bd.Name = fmt.Sprintf("%s-DUPLICATE%d", bd.Name, seen[bd.Name])
		}
		out = append(out, bridgeDomainKV{
			Key: model.BridgeDomainModel.Key(bd), Value: bd, Metadata: &BDMeta{found.ID}, Origin: kvs.FromNB,
		})
	}
	return out, snapshot.Err()
}

func describe(found vppcalls.BridgeDomainDetails, answers []vppcalls.ARPAnswer, snapshot *ifaceidx.Snapshot) *l2.BridgeDomain {
	bd := &l2.BridgeDomain{
		Name: found.Tag, Flood: found.Flood, UnknownUnicastFlood: found.UUFlood, Forward: found.Forward,
		Learn: found.Learn, ArpTermination: found.ARPTerm, MacAge: uint32(found.MacAge),
	}
	for _, m := range found.Members {
		if name, ok := snapshot.Name(m.SwIfIndex); ok {
			bd.Interfaces = append(bd.Interfaces, &l2.BridgeDomain_Interface{
				Name: name, BridgedVirtualInterface: m.BVI, SplitHorizonGroup: uint32(m.SplitHorizonGroup),
			})
		}
	}
	for _, a := range answers {
		bd.ArpTerminationTable = append(bd.ArpTerminationTable, &l2.BridgeDomain_ArpTerminationEntry{
			IpAddress: a.Addr.String(), PhysAddress: a.MAC.String(),
		})
	}
	return bd
}

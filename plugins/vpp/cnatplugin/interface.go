package cnatplugin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"go.fd.io/govpp/api"
	cnatapi "go.fd.io/govpp/binapi/cnat"
	"go.fd.io/govpp/binapi/feature"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding/cnatmsg"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	cnat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/cnat"
)

// use is the use of an interface: the nodes of source NAT that are in its path of packets, and the
// lists of the policy that it is in.
type use struct {
	role     cnat.Interface_Role
	ip4, ip6 bool
}

func (u use) nodes() (all []node) {
	if u.ip4 {
		all = append(all, node{"ip4-unicast", "cnat-snat-ip4"})
	}
	if u.ip6 {
		all = append(all, node{"ip6-unicast", "cnat-snat-ip6"})
	}
	return all
}

type node struct{ path, name string }

type list = cnatapi.CnatSnatPolicyTable

func (u use) lists() (all []list) {
	switch u.role {
	case cnat.Interface_OTHER:
		return nil
	case cnat.Interface_HOST:
		return []list{cnatapi.CNAT_POLICY_HOST}
	case cnat.Interface_POD:
		all = append(all, cnatapi.CNAT_POLICY_POD)
	}
	if u.ip4 {
		all = append(all, cnatapi.CNAT_POLICY_INCLUDE_V4)
	}
	if u.ip6 {
		all = append(all, cnatapi.CNAT_POLICY_INCLUDE_V6)
	}
	return all
}

type listCall = func(index interface_types.InterfaceIndex, in list, add uint8) (request, reply api.Message)

func setList(index interface_types.InterfaceIndex, in list, add uint8) (request, reply api.Message) {
	return &cnatapi.CnatSnatPolicyAddDelIf{SwIfIndex: index, IsAdd: add, Table: in}, &cnatapi.CnatSnatPolicyAddDelIfReply{}
}

// setListBefore2310 has another CRC.
func setListBefore2310(index interface_types.InterfaceIndex, in list, add uint8) (request, reply api.Message) {
	m := &cnatmsg.SnatPolicyAddDelIf{}
	m.SwIfIndex, m.IsAdd, m.Table = index, add, in
	return m, &cnatapi.CnatSnatPolicyAddDelIfReply{}
}

var (
	interfaces = session.Declare("CNAT interface", plugin,
		session.Variant[listCall](setList, &cnatapi.CnatSnatPolicyAddDelIf{}, &cnatapi.CnatSnatPolicyAddDelIfReply{},
			&feature.FeatureEnableDisable{}, &feature.FeatureEnableDisableReply{}),
		session.Variant[listCall](setListBefore2310, &cnatmsg.SnatPolicyAddDelIf{}, &cnatapi.CnatSnatPolicyAddDelIfReply{},
			&feature.FeatureEnableDisable{}, &feature.FeatureEnableDisableReply{}))
	hosts = session.Step("CNAT interface: role HOST", session.Variant(struct{}{}, (*cnatapi.CnatSnatPolicyAddDelIf)(nil)))
)

// uses are the policies of interfaces that were set in a session: VPP does not report them.
type uses struct {
	mu sync.Mutex
	of map[uint32]knownUse
}

// knownUse is a use that was applied.
type knownUse struct {
	use
	unsure bool // a change failed since
}

type interfaceDescriptor struct {
	vpp  *session.VPP
	ifs  item.Interfaces
	uses *session.State[uses]
}

type interfaceKV = kvs.KV[*cnat.Interface, kvs.Metadata]

// NewInterface describes interfaces that source NAT looks at. VPP keeps them in its lists when they
// are deleted, so they leave before. They are no item.Entry, which takes a change that failed for
// one that had no effect.
func NewInterface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &interfaceDescriptor{vpp, ifs, session.NewState(func() *uses { return &uses{of: map[uint32]knownUse{}} })}
	return kvs.Adapt(kvs.Describe(InterfaceModel, kvs.Descriptor[*cnat.Interface, kvs.Metadata]{
		Name:       InterfaceName,
		Southbound: item.Southbound,
		Validate:   validateInterface,
		Dependencies: func(_ string, v *cnat.Interface) []kvs.Dependency {
			return []kvs.Dependency{
				item.DependsOnInterface("interface-exists", v.GetName()),
				{Label: "cnat-global-config-exists", Key: GlobalModel.KeyPrefix()},
			}
		},
		ValueComparator: func(_ string, a, b *cnat.Interface) bool { return useOf(a) == useOf(b) },
		CreateContext: func(ctx context.Context, _ string, v *cnat.Interface) (kvs.Metadata, error) {
			return nil, d.change(ctx, v, useOf(v), true)
		},
		UpdateContext: func(ctx context.Context, _ string, _, v *cnat.Interface, _ kvs.Metadata) (kvs.Metadata, error) {
			return nil, d.change(ctx, v, useOf(v), false)
		},
		DeleteContext: func(ctx context.Context, _ string, v *cnat.Interface, _ kvs.Metadata) error {
			return d.remove(ctx, v)
		},
		RetrieveContext:      d.retrieve,
		SessionOnly:          func() bool { return interfaces.Check(d.vpp) == nil },
		RetrieveDependencies: []string{item.InterfaceName},
	}))
}

func useOf(v *cnat.Interface) use { return use{v.GetRole(), v.GetIp4(), v.GetIp6()} }

func validateInterface(_ string, v *cnat.Interface) error {
	r := &item.Resolver{}
	r.Enum("role", v.GetRole())
	looks := v.GetIp4() || v.GetIp6()
	switch {
	case v.GetRole() == cnat.Interface_HOST && looks:
		r.Fail("role", "HOST, expected neither ip4 nor ip6: source NAT does not look at what comes from there")
	case v.GetRole() != cnat.Interface_HOST && !looks:
		r.Fail("ip4", "false, expected ip4, ip6 or both")
	}
	return r.Err()
}

// change changes the use of an interface. What VPP has of one that is created, or whose last change
// failed, is not known: it is removed first.
func (d *interfaceDescriptor) change(ctx context.Context, v *cnat.Interface, to use, created bool) error {
	list, err := interfaces.On(d.vpp)
	if to.role == cnat.Interface_HOST {
		err = errors.Join(err, hosts.Check(d.vpp))
	}
	index, ifErr := item.SwIfIndex(d.ifs, v.GetName())
	uses, stateErr := d.uses.On(d.vpp)
	if err = errors.Join(err, ifErr, stateErr); err != nil {
		return err
	}
	uses.mu.Lock()
	defer uses.mu.Unlock()
	c := &calls{d.vpp, list, interface_types.InterfaceIndex(index)}
	if created {
		delete(uses.of, index)
	}
	old := uses.of[index]
	from := old.use
	if created || old.unsure {
		err, from = c.replace(ctx, allUses, use{}), use{}
	}
	if err == nil {
		err = c.replace(ctx, from, to)
	}
	switch {
	case err == nil && to == (use{}):
		delete(uses.of, index)
	case err == nil:
		uses.of[index] = knownUse{use: to}
	case !created:
		uses.of[index] = knownUse{old.use, true}
	}
	return err
}

// remove ends a use. The state of the session lacks uses of an earlier run of the agent.
func (d *interfaceDescriptor) remove(ctx context.Context, v *cnat.Interface) error {
	index, err := item.SwIfIndex(d.ifs, v.GetName())
	if err != nil {
		return nil // VPP was restarted: it has neither
	}
	uses, err := d.uses.On(d.vpp)
	if err != nil {
		return err
	}
	uses.mu.Lock()
	if _, known := uses.of[index]; !known {
		uses.of[index] = knownUse{use: useOf(v)}
	}
	uses.mu.Unlock()
	return d.change(ctx, v, use{}, false)
}

// allUses is all that releases have in common.
var allUses = use{cnat.Interface_POD, true, true}

// calls change the use of one interface.
type calls struct {
	vpp   *session.VPP
	list  listCall
	index interface_types.InterfaceIndex
}

// part is the request that adds or removes a part of a use, and a message for the reply.
type part = func(add bool) (request, reply api.Message)

func (c *calls) parts(lists []list, nodes []node) (all []part) {
	for _, l := range lists {
		all = append(all, func(add bool) (request, reply api.Message) {
			if add {
				return c.list(c.index, l, 1)
			}
			return c.list(c.index, l, 0)
		})
	}
	for _, n := range nodes {
		all = append(all, func(add bool) (request, reply api.Message) {
			return &feature.FeatureEnableDisable{SwIfIndex: c.index, Enable: add, ArcName: n.path, FeatureName: n.name},
				&feature.FeatureEnableDisableReply{}
		})
	}
	return all
}

// replace turns a use into another one. If that fails, VPP has at most the old one.
func (c *calls) replace(ctx context.Context, from, to use) error {
	_, err := c.send(ctx, c.parts(without(from.lists(), to.lists()), without(from.nodes(), to.nodes())), false)
	if err != nil {
		return err
	}
	added, err := c.send(ctx, c.parts(without(to.lists(), from.lists()), without(to.nodes(), from.nodes())), true)
	if err != nil {
		_, undone := c.send(ctx, added, false)
		err = errors.Join(err, undone)
	}
	return err
}

// send returns the parts that VPP added or removed.
func (c *calls) send(ctx context.Context, parts []part, add bool) (done []part, err error) {
	requests, replies := make([]api.Message, len(parts)), make([]api.Message, len(parts))
	for i, p := range parts {
		requests[i], replies[i] = p(add)
	}
	for i, answer := range c.vpp.CallAll(ctx, requests, replies) {
		if answer == nil || !add && session.Gone(answer) {
			done = append(done, parts[i])
			continue
		}
		err = errors.Join(err, answer)
	}
	return done, err
}

// without returns what a has and b has not.
func without[T comparable](a, b []T) []T {
	return slices.DeleteFunc(a, func(v T) bool { return slices.Contains(b, v) })
}

func (d *interfaceDescriptor) retrieve(ctx context.Context, _ []interfaceKV) (all []interfaceKV, err error) {
	uses, err := d.uses.On(d.vpp)
	if err != nil {
		return nil, err
	}
	uses.mu.Lock()
	defer uses.mu.Unlock()
	snapshot := d.ifs.Snapshot(ctx)
	for _, index := range slices.Sorted(maps.Keys(uses.of)) {
		name, exists := snapshot.Name(index)
		if !exists {
			continue
		}
		u := uses.of[index].use
		v := &cnat.Interface{Name: name, Role: u.role, Ip4: u.ip4, Ip6: u.ip6}
		all = append(all, interfaceKV{Key: InterfaceModel.Key(v), Value: v, Origin: kvs.FromNB})
	}
	return all, snapshot.Err()
}

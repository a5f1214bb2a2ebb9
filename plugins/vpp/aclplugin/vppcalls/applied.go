package vppcalls

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/acl"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// maxApplied is how many lists an interface can have in both directions: VPP counts in a byte.
const maxApplied = math.MaxUint8

var (
	ipApplied = session.Require("ACL: interfaces", plugin,
		(*acl.ACLInterfaceSetACLList)(nil), (*acl.ACLInterfaceSetACLListReply)(nil),
		(*acl.ACLInterfaceListDump)(nil), (*acl.ACLInterfaceListDetails)(nil))
	macApplied = session.Require("ACL: interfaces with MAC/IP rules", plugin,
		(*acl.MacipACLInterfaceAddDel)(nil), (*acl.MacipACLInterfaceAddDelReply)(nil),
		(*acl.MacipACLInterfaceListDump)(nil), (*acl.MacipACLInterfaceListDetails)(nil))
)

// Applied are the lists of IP rules that an interface has, by index, in the order in which VPP
// looks at them.
type Applied struct {
	SwIfIndex       uint32
	Ingress, Egress []uint32
}

// changing is held while the lists of interfaces are read and set, as VPP wants all of an
// interface at once.
var changing = session.NewState(func() *sync.Mutex { return &sync.Mutex{} })

// Apply changes the lists of IP rules that interfaces have: change gets those that VPP has now
// and returns those that it should have. The result has one error per interface.
func (c *Calls) Apply(ctx context.Context, swIfIndexes []uint32, change func(has Applied) Applied) []error {
	errs := make([]error, len(swIfIndexes))
	mu, err := changing.On(c.vpp)
	if err = errors.Join(err, ipApplied.Check(c.vpp)); err != nil {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	c.used.Store(true)
	mu.Lock()
	defer mu.Unlock()
	var requests, replies []api.Message
	var sent []int
	for i, index := range swIfIndexes {
		has, err := c.applied(ctx, index)
		if errs[i] = err; err != nil {
			continue
		}
		want := change(Applied{index, slices.Clone(has.Ingress), slices.Clone(has.Egress)})
		if slices.Equal(want.Ingress, has.Ingress) && slices.Equal(want.Egress, has.Egress) {
			continue
		}
		all := slices.Concat(want.Ingress, want.Egress)
		if len(all) > maxApplied {
			errs[i] = fmt.Errorf("the interface would have %d lists, VPP takes at most %d", len(all), maxApplied)
			continue
		}
		requests = append(requests, &acl.ACLInterfaceSetACLList{
			SwIfIndex: interface_types.InterfaceIndex(index), NInput: uint8(len(want.Ingress)), Acls: all,
		})
		replies, sent = append(replies, &acl.ACLInterfaceSetACLListReply{}), append(sent, i)
	}
	for n, err := range c.vpp.CallAll(ctx, requests, replies) {
		errs[sent[n]] = err
	}
	return errs
}

// RestoreLayer2 applies the lists of an interface that has left layer 2 again.
func (c *Calls) RestoreLayer2(ctx context.Context, swIfIndex uint32) error {
	if !c.used.Load() {
		return nil
	}
	mu, err := changing.On(c.vpp)
	if err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	var requests, replies []api.Message
	if ipApplied.Check(c.vpp) == nil {
		has, err := c.applied(ctx, swIfIndex)
		if err != nil {
			return err
		}
		if all := slices.Concat(has.Ingress, has.Egress); len(all) > 0 {
			index := interface_types.InterfaceIndex(swIfIndex)
			requests = append(requests, &acl.ACLInterfaceSetACLList{SwIfIndex: index},
				&acl.ACLInterfaceSetACLList{SwIfIndex: index, NInput: uint8(len(has.Ingress)), Acls: all})
			replies = append(replies, &acl.ACLInterfaceSetACLListReply{}, &acl.ACLInterfaceSetACLListReply{})
		}
	}
	if macApplied.Check(c.vpp) == nil {
		lists, err := c.dumpAppliedMAC(ctx, swIfIndex)
		if err != nil {
			return err
		}
		for _, l := range lists {
			for _, add := range []bool{false, true} {
				requests = append(requests, &acl.MacipACLInterfaceAddDel{IsAdd: add, SwIfIndex: interface_types.InterfaceIndex(swIfIndex), ACLIndex: l.List})
				replies = append(replies, &acl.MacipACLInterfaceAddDelReply{})
			}
		}
	}
	for _, failed := range c.vpp.CallAll(ctx, requests, replies) {
		if failed != nil && !session.Gone(failed) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// applied returns the lists of one interface, none if it does not exist.
func (c *Calls) applied(ctx context.Context, swIfIndex uint32) (Applied, error) {
	found, err := session.Dump[*acl.ACLInterfaceListDetails](ctx, c.vpp,
		&acl.ACLInterfaceListDump{SwIfIndex: interface_types.InterfaceIndex(swIfIndex)})
	if err != nil || len(found) == 0 {
		return Applied{SwIfIndex: swIfIndex}, err
	}
	return appliedOf(found[0]), nil
}

func appliedOf(d *acl.ACLInterfaceListDetails) Applied {
	inputs := min(int(d.NInput), len(d.Acls))
	return Applied{uint32(d.SwIfIndex), d.Acls[:inputs], d.Acls[inputs:]}
}

// DumpApplied returns the lists of all interfaces that have any.
func (c *Calls) DumpApplied(ctx context.Context) (all []Applied, err error) {
	found, err := session.DumpOf[*acl.ACLInterfaceListDetails](ctx, c.vpp, ipApplied,
		&acl.ACLInterfaceListDump{SwIfIndex: math.MaxUint32})
	for _, d := range found {
		if len(d.Acls) > 0 {
			c.used.Store(true)
			all = append(all, appliedOf(d))
		}
	}
	return all, err
}

// AppliedMAC is the list of MAC/IP rules that an interface has.
type AppliedMAC struct {
	SwIfIndex, List uint32
}

// ErrOtherList is the error of an interface that has another list of MAC/IP rules.
var ErrOtherList = errors.New("has another list of MAC/IP rules, and VPP applies one")

// ApplyMAC applies a list of MAC/IP rules to an interface. VPP would replace another list,
// which is refused here: an error that wraps ErrOtherList.
func (c *Calls) ApplyMAC(ctx context.Context, m AppliedMAC) error {
	return c.changeMAC(ctx, m, func(has uint32) (send bool, err error) {
		if has != m.List && has != NoList {
			return false, ErrOtherList
		}
		return has == NoList, nil
	}, true)
}

// RemoveMAC takes a list of MAC/IP rules from an interface, unless that has another one: VPP
// would take away whichever it has.
func (c *Calls) RemoveMAC(ctx context.Context, m AppliedMAC) error {
	err := c.changeMAC(ctx, m, func(has uint32) (send bool, err error) { return has == m.List, nil }, false)
	if session.Gone(err, api.NO_SUCH_ENTRY) {
		return nil
	}
	return err
}

func (c *Calls) changeMAC(ctx context.Context, m AppliedMAC, decide func(has uint32) (send bool, err error), add bool) error {
	mu, err := changing.On(c.vpp)
	if err = errors.Join(err, macApplied.Check(c.vpp)); err != nil {
		return err
	}
	c.used.Store(true)
	mu.Lock()
	defer mu.Unlock()
	found, err := c.dumpAppliedMAC(ctx, m.SwIfIndex)
	if err != nil {
		return err
	}
	has := NoList
	if len(found) > 0 {
		has = found[0].List
	}
	if send, err := decide(has); err != nil || !send {
		return err
	}
	return c.vpp.Call(ctx, &acl.MacipACLInterfaceAddDel{
		IsAdd: add, SwIfIndex: interface_types.InterfaceIndex(m.SwIfIndex), ACLIndex: m.List,
	}, &acl.MacipACLInterfaceAddDelReply{})
}

// DumpAppliedMAC returns the lists of MAC/IP rules that interfaces have.
func (c *Calls) DumpAppliedMAC(ctx context.Context) ([]AppliedMAC, error) {
	return c.dumpAppliedMAC(ctx, math.MaxUint32)
}

func (c *Calls) dumpAppliedMAC(ctx context.Context, swIfIndex uint32) (all []AppliedMAC, err error) {
	found, err := session.DumpOf[*acl.MacipACLInterfaceListDetails](ctx, c.vpp, macApplied,
		&acl.MacipACLInterfaceListDump{SwIfIndex: interface_types.InterfaceIndex(swIfIndex)})
	for _, d := range found {
		for _, list := range d.Acls {
			if list != NoList {
				c.used.Store(true)
				all = append(all, AppliedMAC{uint32(d.SwIfIndex), list})
			}
		}
	}
	return all, err
}

func gotAny(err error, answers ...api.VPPApiError) bool {
	return slices.ContainsFunc(answers, func(a api.VPPApiError) bool { return errors.Is(err, a) })
}

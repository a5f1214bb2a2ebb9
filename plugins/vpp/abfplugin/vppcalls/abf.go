// Package vppcalls makes the calls to VPP that handle policies of ACL-based forwarding and
// their use on interfaces.
package vppcalls

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/abf"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Operations are what the items of the plugin need of VPP.
var Operations = session.Operations{policies, attachments}

var (
	policies = session.Require("ABF policy", "abf",
		(*abf.AbfPolicyAddDel)(nil), (*abf.AbfPolicyAddDelReply)(nil), (*abf.AbfPolicyDump)(nil), (*abf.AbfPolicyDetails)(nil))
	attachments = session.Require("ABF policy: interfaces", "abf",
		(*abf.AbfItfAttachAddDel)(nil), (*abf.AbfItfAttachAddDelReply)(nil),
		(*abf.AbfItfAttachDump)(nil), (*abf.AbfItfAttachDetails)(nil))
)

// Calls sends the requests. Its methods may be called concurrently.
type Calls struct {
	vpp *session.VPP
}

// New returns the calls to a VPP.
func New(vpp *session.VPP) *Calls { return &Calls{vpp} }

// Path is one way that packets of a policy may go.
type Path struct {
	// NextHop is invalid for what is directly attached.
	NextHop netip.Addr
	// SwIfIndex of the outgoing interface; ^0 to look up the next hop in table 0.
	SwIfIndex uint32
	// IPv6 is the version of IP of a path without NextHop.
	IPv6 bool
	// DVR: forward on layer 2, without rewriting the packet.
	DVR bool
	// Weight is at least 1.
	Weight, Preference uint8
	// Other are the settings of a path of VPP that the model lacks; see ipconv.PlainPathSettings.
	Other string
}

// Policy is a list of paths for the packets that an access control list selects.
type Policy struct {
	ID, ACL uint32
	Paths   []Path
}

// AddPaths adds paths to a policy, which is created if it does not exist. VPP ignores a path
// that differs from one of the policy in weight and preference only.
func (c *Calls) AddPaths(ctx context.Context, p Policy) error { return c.changePaths(ctx, p, true) }

// RemovePaths removes paths of a policy. One without paths is deleted; it must not be attached
// to an interface.
func (c *Calls) RemovePaths(ctx context.Context, p Policy) error { return c.changePaths(ctx, p, false) }

func (c *Calls) changePaths(ctx context.Context, p Policy, add bool) error {
	if err := policies.Check(c.vpp); err != nil {
		return err
	}
	if len(p.Paths) == 0 {
		return nil
	}
	req := &abf.AbfPolicyAddDel{IsAdd: add, Policy: abf.AbfPolicy{PolicyID: p.ID, ACLIndex: p.ACL}}
	for _, path := range p.Paths {
		req.Policy.Paths = append(req.Policy.Paths, path.message())
	}
	return c.vpp.Call(ctx, req, &abf.AbfPolicyAddDelReply{})
}

func (p Path) message() fib_types.FibPath {
	out := fib_types.FibPath{SwIfIndex: p.SwIfIndex, Weight: p.Weight, Preference: p.Preference}
	if p.DVR {
		out.Type = fib_types.FIB_API_PATH_TYPE_DVR
	}
	if p.IPv6 || p.NextHop.Is6() {
		out.Proto = fib_types.FIB_API_PATH_NH_PROTO_IP6
	}
	if p.NextHop.IsValid() {
		out.Nh.Address = ipconv.Address(p.NextHop).Un
	}
	return out
}

func pathOf(m fib_types.FibPath) Path {
	p := Path{
		SwIfIndex: m.SwIfIndex, DVR: m.Type == fib_types.FIB_API_PATH_TYPE_DVR, Weight: m.Weight, Preference: m.Preference,
		IPv6: m.Proto == fib_types.FIB_API_PATH_NH_PROTO_IP6, Other: ipconv.PlainPathSettings(m),
	}
	hop := netip.AddrFrom4(m.Nh.Address.GetIP4())
	if p.IPv6 {
		hop = netip.AddrFrom16(m.Nh.Address.GetIP6())
	}
	if !hop.IsUnspecified() {
		p.NextHop = hop
	}
	return p
}

// DumpPolicies returns all policies.
func (c *Calls) DumpPolicies(ctx context.Context) ([]Policy, error) {
	found, err := session.DumpOf[*abf.AbfPolicyDetails](ctx, c.vpp, policies, &abf.AbfPolicyDump{})
	all := make([]Policy, 0, len(found))
	for _, d := range found {
		p := Policy{ID: d.Policy.PolicyID, ACL: d.Policy.ACLIndex}
		for _, path := range d.Policy.Paths {
			p.Paths = append(p.Paths, pathOf(path))
		}
		all = append(all, p)
	}
	return all, err
}

// DeletePolicy deletes a policy with all paths that VPP has of it. If it does not exist, that
// is a success.
func (c *Calls) DeletePolicy(ctx context.Context, id uint32) error {
	all, err := c.DumpPolicies(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.ID == id {
			return c.RemovePaths(ctx, p)
		}
	}
	return nil
}

// Attachment is the use of a policy on an interface.
type Attachment struct {
	Policy, SwIfIndex, Priority uint32
	IPv6                        bool
}

// attachmentID is what distinguishes attachments in VPP.
type attachmentID struct{ policy, swIfIndex uint32 }

func (a Attachment) id() attachmentID { return attachmentID{a.Policy, a.SwIfIndex} }

// attaching is held while attachments are read and changed: VPP 22.10 to 26.06 do not check
// requests that name what does not exist, and crash.
var attaching = session.NewState(func() *sync.Mutex { return &sync.Mutex{} })

// ErrOtherVersion is the error of an interface to which a policy is attached for the other
// version of IP.
var ErrOtherVersion = errors.New("VPP attaches a policy to an interface for one version of IP")

// Attach attaches policies to interfaces, and changes the priority of those that are attached.
// It returns one error for each.
func (c *Calls) Attach(ctx context.Context, wanted []Attachment) []error {
	return c.attach(ctx, wanted, func(has map[attachmentID]Attachment, known map[uint32]bool, a Attachment) error {
		switch is, ok := has[a.id()]; {
		case !known[a.Policy]:
			return fmt.Errorf("VPP has no policy %d", a.Policy)
		case ok && is.IPv6 != a.IPv6:
			return ErrOtherVersion
		case ok && is == a:
			return nil
		case ok: // VPP has no request that changes the priority
			if err := c.sendAttachment(ctx, is, false); err != nil {
				return err
			}
		}
		err := c.sendAttachment(ctx, a, true)
		if err == nil {
			has[a.id()] = a
		}
		return err
	})
}

// Detach detaches policies from interfaces. If one is not attached, that is a success.
func (c *Calls) Detach(ctx context.Context, gone []Attachment) []error {
	return c.attach(ctx, gone, func(has map[attachmentID]Attachment, _ map[uint32]bool, a Attachment) error {
		is, ok := has[a.id()]
		if !ok || is.IPv6 != a.IPv6 {
			return nil
		}
		err := c.sendAttachment(ctx, is, false)
		if session.Gone(err, api.NO_SUCH_ENTRY) {
			return nil
		}
		return err
	})
}

// attach calls do for each attachment, with those and the policies that VPP has.
func (c *Calls) attach(ctx context.Context, all []Attachment,
	do func(has map[attachmentID]Attachment, known map[uint32]bool, a Attachment) error) []error {
	errs := make([]error, len(all))
	mu, err := attaching.On(c.vpp)
	has, known := map[attachmentID]Attachment{}, map[uint32]bool{}
	if err = errors.Join(err, attachments.Check(c.vpp)); err == nil {
		mu.Lock()
		defer mu.Unlock()
		has, known, err = c.state(ctx)
	}
	for i, a := range all {
		if errs[i] = err; err == nil {
			errs[i] = do(has, known, a)
		}
	}
	return errs
}

func (c *Calls) state(ctx context.Context) (has map[attachmentID]Attachment, known map[uint32]bool, err error) {
	attached, err := c.DumpAttachments(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, err := c.DumpPolicies(ctx)
	has, known = make(map[attachmentID]Attachment, len(attached)), make(map[uint32]bool, len(all))
	for _, a := range attached {
		has[a.id()] = a
	}
	for _, p := range all {
		known[p.ID] = true
	}
	return has, known, err
}

func (c *Calls) sendAttachment(ctx context.Context, a Attachment, add bool) error {
	return c.vpp.Call(ctx, &abf.AbfItfAttachAddDel{IsAdd: add, Attach: abf.AbfItfAttach{
		PolicyID: a.Policy, SwIfIndex: interface_types.InterfaceIndex(a.SwIfIndex), Priority: a.Priority, IsIPv6: a.IPv6,
	}}, &abf.AbfItfAttachAddDelReply{})
}

// DumpAttachments returns all attachments.
func (c *Calls) DumpAttachments(ctx context.Context) ([]Attachment, error) {
	found, err := session.DumpOf[*abf.AbfItfAttachDetails](ctx, c.vpp, attachments, &abf.AbfItfAttachDump{})
	all := make([]Attachment, 0, len(found))
	for _, d := range found {
		all = append(all, Attachment{d.Attach.PolicyID, uint32(d.Attach.SwIfIndex), d.Attach.Priority, d.Attach.IsIPv6})
	}
	return all, err
}

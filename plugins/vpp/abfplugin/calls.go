package abfplugin

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.fd.io/govpp/api"
	abfapi "go.fd.io/govpp/binapi/abf"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

var (
	policies = session.Require("ABF policy", "abf",
		(*abfapi.AbfPolicyAddDel)(nil), (*abfapi.AbfPolicyAddDelReply)(nil), (*abfapi.AbfPolicyDump)(nil), (*abfapi.AbfPolicyDetails)(nil))
	attachments = session.Require("ABF policy: interfaces", "abf",
		(*abfapi.AbfItfAttachAddDel)(nil), (*abfapi.AbfItfAttachAddDelReply)(nil),
		(*abfapi.AbfItfAttachDump)(nil), (*abfapi.AbfItfAttachDetails)(nil))
)

// calls sends the requests. Its methods may be called concurrently.
type calls struct{ vpp *session.VPP }

// changePaths adds paths to a policy, which is created if it does not exist, or removes paths. VPP
// ignores a path that differs from one of the policy in weight and preference only. A policy without
// paths is deleted; it must not be attached to an interface.
func (c calls) changePaths(ctx context.Context, p policy, paths []path, add bool) error {
	if err := policies.Check(c.vpp); err != nil {
		return err
	}
	if len(paths) == 0 {
		return nil
	}
	req := &abfapi.AbfPolicyAddDel{IsAdd: add, Policy: abfapi.AbfPolicy{PolicyID: p.id, ACLIndex: p.acl}}
	for _, path := range paths {
		req.Policy.Paths = append(req.Policy.Paths, path.message())
	}
	return c.vpp.Call(ctx, req, &abfapi.AbfPolicyAddDelReply{})
}

// dumpPolicies returns all policies.
func (c calls) dumpPolicies(ctx context.Context) ([]policy, error) {
	found, err := session.DumpOf[*abfapi.AbfPolicyDetails](ctx, c.vpp, policies, &abfapi.AbfPolicyDump{})
	all := make([]policy, 0, len(found))
	for _, d := range found {
		p := policy{id: d.Policy.PolicyID, acl: d.Policy.ACLIndex}
		for _, path := range d.Policy.Paths {
			p.paths = append(p.paths, pathOf(path))
		}
		all = append(all, p)
	}
	return all, err
}

// deletePolicy deletes a policy with all paths that VPP has of it. If it does not exist, that
// is a success.
func (c calls) deletePolicy(ctx context.Context, id uint32) error {
	all, err := c.dumpPolicies(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.id == id {
			return c.changePaths(ctx, p, p.paths, false)
		}
	}
	return nil
}

// attachment is the use of a policy on an interface.
type attachment = abfapi.AbfItfAttach

// attachmentID is what distinguishes attachments in VPP.
type attachmentID struct {
	policy uint32
	iface  interface_types.InterfaceIndex
}

func idOf(a attachment) attachmentID { return attachmentID{a.PolicyID, a.SwIfIndex} }

// attaching is held while attachments are read and changed: VPP 22.10 to 26.06 do not check
// requests that name what does not exist, and crash.
var attaching = session.NewState(func() *sync.Mutex { return &sync.Mutex{} })

// errOtherVersion is the error of an interface to which a policy is attached for the other
// version of IP.
var errOtherVersion = errors.New("VPP attaches a policy to an interface for one version of IP")

// attach attaches policies to interfaces, and changes the priority of those that are attached.
// It returns one error for each.
func (c calls) attach(ctx context.Context, wanted []attachment) []error {
	return c.forEach(ctx, wanted, func(has map[attachmentID]attachment, known map[uint32]bool, a attachment) error {
		switch is, ok := has[idOf(a)]; {
		case !known[a.PolicyID]:
			return fmt.Errorf("VPP has no policy %d", a.PolicyID)
		case ok && is.IsIPv6 != a.IsIPv6:
			return errOtherVersion
		case ok && is == a:
			return nil
		case ok: // VPP has no request that changes the priority
			if err := c.sendAttachment(ctx, is, false); err != nil {
				return err
			}
		}
		err := c.sendAttachment(ctx, a, true)
		if err == nil {
			has[idOf(a)] = a
		}
		return err
	})
}

// detach detaches policies from interfaces. If one is not attached, that is a success.
func (c calls) detach(ctx context.Context, gone []attachment) []error {
	return c.forEach(ctx, gone, func(has map[attachmentID]attachment, _ map[uint32]bool, a attachment) error {
		is, ok := has[idOf(a)]
		if !ok || is.IsIPv6 != a.IsIPv6 {
			return nil
		}
		err := c.sendAttachment(ctx, is, false)
		if session.Gone(err, api.NO_SUCH_ENTRY) {
			return nil
		}
		return err
	})
}

// forEach calls do for each attachment, with those and the policies that VPP has.
func (c calls) forEach(ctx context.Context, all []attachment,
	do func(has map[attachmentID]attachment, known map[uint32]bool, a attachment) error) []error {
	errs := make([]error, len(all))
	mu, err := attaching.On(c.vpp)
	has, known := map[attachmentID]attachment{}, map[uint32]bool{}
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

func (c calls) state(ctx context.Context) (has map[attachmentID]attachment, known map[uint32]bool, err error) {
	attached, err := c.dumpAttachments(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, err := c.dumpPolicies(ctx)
	has, known = make(map[attachmentID]attachment, len(attached)), make(map[uint32]bool, len(all))
	for _, a := range attached {
		has[idOf(a)] = a
	}
	for _, p := range all {
		known[p.id] = true
	}
	return has, known, err
}

func (c calls) sendAttachment(ctx context.Context, a attachment, add bool) error {
	return c.vpp.Call(ctx, &abfapi.AbfItfAttachAddDel{IsAdd: add, Attach: a}, &abfapi.AbfItfAttachAddDelReply{})
}

// dumpAttachments returns all attachments.
func (c calls) dumpAttachments(ctx context.Context) ([]attachment, error) {
	found, err := session.DumpOf[*abfapi.AbfItfAttachDetails](ctx, c.vpp, attachments, &abfapi.AbfItfAttachDump{})
	all := make([]attachment, 0, len(found))
	for _, d := range found {
		all = append(all, d.Attach)
	}
	return all, err
}

// Package vppcalls makes the calls to VPP that handle access control lists and their use on
// interfaces.
package vppcalls

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/acl"
	"go.fd.io/govpp/binapi/acl_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Operations are what the items of the plugin need of VPP.
var Operations = session.Operations{ipLists, macLists, ipApplied, macApplied}

// plugin of VPP that has the messages.
const plugin = "acl"

var (
	ipLists = session.Require("ACL", plugin,
		(*acl.ACLAddReplace)(nil), (*acl.ACLAddReplaceReply)(nil), (*acl.ACLDel)(nil), (*acl.ACLDelReply)(nil),
		(*acl.ACLDump)(nil), (*acl.ACLDetails)(nil))
	macLists = session.Require("ACL: MAC/IP rules", plugin,
		(*acl.MacipACLAddReplace)(nil), (*acl.MacipACLAddReplaceReply)(nil), (*acl.MacipACLDel)(nil), (*acl.MacipACLDelReply)(nil),
		(*acl.MacipACLDump)(nil), (*acl.MacipACLDetails)(nil))
)

// Calls sends the requests. Its methods may be called concurrently.
type Calls struct {
	vpp *session.VPP
	// used reports that an interface has had a list, as far as it was seen: see RestoreLayer2.
	used atomic.Bool
}

// New returns the calls to a VPP.
func New(vpp *session.VPP) *Calls { return &Calls{vpp: vpp} }

// List is an access control list, with rules for IP or for MAC addresses. VPP has a pool of
// its own for each kind, so that an index says nothing without the kind.
type List struct {
	// Name is the tag in VPP.
	Name string
	// L2: the list has the rules MAC, otherwise the rules IP.
	L2  bool
	IP  []acl_types.ACLRule
	MAC []acl_types.MacipACLRule
}

// Equal reports whether the lists have the same name and rules.
func (l List) Equal(other List) bool {
	return l.Name == other.Name && l.L2 == other.L2 && slices.Equal(l.IP, other.IP) && slices.Equal(l.MAC, other.MAC)
}

// NoList stands for a list that VPP has not got yet.
const NoList = uint32(math.MaxUint32)

// IndexedList is a list with its index in VPP; NoList for a new one.
type IndexedList struct {
	List
	Index uint32
}

// Outcome is the index of a list that was set, or why it was not.
type Outcome struct {
	Index uint32
	Err   error
}

// SetLists creates lists, and replaces the rules of those that have an index. They stay in
// use where they are; VPP stops its workers meanwhile, so that every packet meets the old
// rules or the new ones. All requests are sent before the first reply is waited for.
func (c *Calls) SetLists(ctx context.Context, lists []IndexedList) []Outcome {
	outcomes := make([]Outcome, len(lists))
	requests, replies := make([]api.Message, 0, len(lists)), make([]api.Message, 0, len(lists))
	var sent []int
	for i, l := range lists {
		if outcomes[i].Err = operation(l.L2).Check(c.vpp); outcomes[i].Err != nil {
			continue
		}
		sent = append(sent, i)
		if l.L2 {
			requests = append(requests, &acl.MacipACLAddReplace{ACLIndex: l.Index, Tag: l.Name, R: l.MAC})
			replies = append(replies, &acl.MacipACLAddReplaceReply{})
		} else {
			requests = append(requests, &acl.ACLAddReplace{ACLIndex: l.Index, Tag: l.Name, R: l.IP})
			replies = append(replies, &acl.ACLAddReplaceReply{})
		}
	}
	for n, err := range c.vpp.CallAll(ctx, requests, replies) {
		outcome := Outcome{Err: err}
		switch reply := replies[n].(type) {
		case *acl.ACLAddReplaceReply:
			outcome.Index = reply.ACLIndex
		case *acl.MacipACLAddReplaceReply:
			outcome.Index = reply.ACLIndex
		}
		outcomes[sent[n]] = outcome
	}
	return outcomes
}

func operation(l2 bool) *session.Operation[struct{}] {
	if l2 {
		return macLists
	}
	return ipLists
}

// DeleteList deletes a list. If it does not exist, that is a success. VPP deletes no list of
// IP rules that is in use.
func (c *Calls) DeleteList(ctx context.Context, l2 bool, index uint32) error {
	if err := operation(l2).Check(c.vpp); err != nil {
		return err
	}
	var err error
	if l2 {
		err = c.vpp.Call(ctx, &acl.MacipACLDel{ACLIndex: index}, &acl.MacipACLDelReply{})
	} else {
		err = c.vpp.Call(ctx, &acl.ACLDel{ACLIndex: index}, &acl.ACLDelReply{})
	}
	switch {
	case session.Gone(err, api.NO_SUCH_ENTRY):
		return nil
	case gotAny(err, api.ACL_IN_USE_INBOUND, api.ACL_IN_USE_OUTBOUND, api.ACL_IN_USE_BY_LOOKUP_CONTEXT):
		return fmt.Errorf("another client of VPP uses the list: %w", err)
	}
	return err
}

// DumpLists returns the lists of both kinds.
func (c *Calls) DumpLists(ctx context.Context) (all []IndexedList, err error) {
	ip, err := session.DumpOf[*acl.ACLDetails](ctx, c.vpp, ipLists, &acl.ACLDump{ACLIndex: math.MaxUint32})
	if err != nil {
		return nil, err
	}
	for _, d := range ip {
		all = append(all, IndexedList{List{Name: d.Tag, IP: d.R}, d.ACLIndex})
	}
	mac, err := session.DumpOf[*acl.MacipACLDetails](ctx, c.vpp, macLists, &acl.MacipACLDump{ACLIndex: math.MaxUint32})
	if err != nil {
		return nil, err
	}
	for _, d := range mac {
		all = append(all, IndexedList{List{Name: d.Tag, L2: true, MAC: d.R}, d.ACLIndex})
	}
	return all, nil
}

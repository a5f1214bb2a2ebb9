package descriptor

import (
	"context"

	ikev2api "go.fd.io/govpp/binapi/ikev2"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding/ikev2msg"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// sas lists security associations (SAs). The newer dumps, which tell the profile, the state and
// since when, are not used: they read the profile of an SA whose peer did not say yet who it is,
// which is none, so that any peer makes VPP crash (send_sa_v2 and send_sa_v3 in
// src/plugins/ikev2/ikev2_api.c, to 26.06 at least).
var sas = session.Step("IKEv2 SA", session.Variant(struct{}{}, &ikev2api.Ikev2SaDump{}, &ikev2msg.SADetails{},
	&ikev2api.Ikev2ChildSaDump{}, &ikev2api.Ikev2ChildSaDetails{}))

// association is an SA that has keys for packets.
type association struct{ initiator, responder identity }

// established returns the function that tells whether VPP has an SA of a profile with keys for
// packets.
func (c *profileCalls) established(ctx context.Context) (func(profile) bool, error) {
	all, err := c.associations(ctx)
	if err != nil {
		return nil, err
	}
	return func(p profile) bool {
		for _, a := range all {
			if p.owns(a) {
				return true
			}
		}
		return false
	}, nil
}

// owns reports that an SA has the identities of a profile, which may accept any responder.
func (p profile) owns(a association) bool {
	initiated := a.initiator == p.local && (p.remote.typ == 0 || a.responder == p.remote)
	return initiated || a.initiator == p.remote && a.responder == p.local
}

func (c *profileCalls) associations(ctx context.Context) (all []association, err error) {
	found, err := session.DumpOf[*ikev2msg.SADetails](ctx, c.vpp, sas, &ikev2api.Ikev2SaDump{})
	if err != nil {
		return nil, err
	}
	for _, sa := range found {
		children, err := session.Dump[*ikev2api.Ikev2ChildSaDetails](ctx, c.vpp, &ikev2api.Ikev2ChildSaDump{SaIndex: sa.Sa.SaIndex})
		if err != nil {
			return nil, err
		}
		for _, child := range children {
			if child.ChildSa.ISpi != 0 && child.ChildSa.RSpi != 0 {
				all = append(all, association{
					identity{sa.Sa.IID.Type, string(sa.InitiatorID)}, identity{sa.Sa.RID.Type, string(sa.ResponderID)},
				})
				break
			}
		}
	}
	return all, nil
}

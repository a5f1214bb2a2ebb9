package ikev2plugin

import (
	"context"
	"maps"
	"sync"
	"time"

	ikev2api "go.fd.io/govpp/binapi/ikev2"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding/ikev2msg"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ikev2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// sas lists security associations (SAs). The newer dumps, which report the profile, the state and
// since when, are not used: they read the profile of an SA whose peer did not say yet who it is,
// which is none, so that any peer makes VPP crash (send_sa_v2 and send_sa_v3 in
// src/plugins/ikev2/ikev2_api.c, to 26.06 at least).
var sas = session.Step("IKEv2 SA", session.Variant(struct{}{}, &ikev2api.Ikev2SaDump{}, &ikev2msg.SADetails{},
	&ikev2api.Ikev2ChildSaDump{}, &ikev2api.Ikev2ChildSaDetails{}))

// association is an SA.
type association struct {
	initiator, responder identity
	// keys: it has keys for packets. One without has begun just now, or the peer has refused it,
	// and stays so for ever.
	keys bool
}

// progress is how far VPP has come with a profile.
type progress uint8

const (
	none   progress = iota // no SA; a request may be repeated that VPP does not list
	begun                  // an SA without keys
	agreed                 // an SA with keys
)

// established returns the function that reports how far VPP has come with a profile.
func (c *profileCalls) established(ctx context.Context) (func(local, remote identity) progress, error) {
	all, err := c.associations(ctx)
	if err != nil {
		return nil, err
	}
	return func(local, remote identity) (is progress) {
		for _, a := range all {
			switch {
			case !a.of(local, remote):
			case a.keys:
				return agreed
			default:
				is = begun
			}
		}
		return is
	}, nil
}

// of reports that an SA has the identities of a profile, which may accept any responder.
func (a association) of(local, remote identity) bool {
	initiated := a.initiator == local && (remote.typ == 0 || a.responder == remote)
	return initiated || a.initiator == remote && a.responder == local
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
		a := association{
			initiator: identity{sa.Sa.IID.Type, string(sa.InitiatorID)}, responder: identity{sa.Sa.RID.Type, string(sa.ResponderID)},
		}
		for _, child := range children {
			a.keys = a.keys || child.ChildSa.ISpi != 0 && child.ChildSa.RSpi != 0
		}
		all = append(all, a)
	}
	return all, nil
}

// notes are the profiles that the agent completed in a session, by name.
type notes struct {
	mu sync.Mutex
	by map[string]note
}

// note is what VPP does not report of a profile.
type note struct {
	local, remote identity
	hostname      string // of the responder
	initiated     bool   // VPP was asked to initiate, or has an SA
	asked         time.Time
	up            bool // VPP had an SA with keys since
	begun         bool // VPP had one without keys when it was looked at last
}

var sessionNotes = session.NewState(func() *notes { return &notes{by: map[string]note{}} })

func (c *profileCalls) note(p profile, up bool) error {
	n, err := sessionNotes.On(c.vpp)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.by[p.name] = note{
		local: p.local, remote: p.remote, hostname: p.responder.hostname, initiated: p.initiate, up: up, asked: time.Now(),
	}
	return nil
}

func (c *profileCalls) noted(name string) note {
	n, err := sessionNotes.On(c.vpp)
	if err != nil {
		return note{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.by[name]
}

// forget removes the note of a profile that is deleted.
func (c *profileCalls) forget(name string) {
	n, err := sessionNotes.On(c.vpp)
	if err != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.by, name)
}

// patience is how long VPP may repeat a request: it could also have had keys for so short a time
// that no look at VPP found them.
const patience = 30 * time.Second

// active notes how far VPP has come with a profile that initiates, and reports that it is active:
// VPP has keys, has begun since it was looked at last, or was asked to initiate a short time ago and
// had no keys since.
func (c *profileCalls) active(name string, is progress) bool {
	n, err := sessionNotes.On(c.vpp)
	if err != nil {
		return is == agreed
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	has := n.by[name]
	refused := is == begun && has.begun
	has.begun = is == begun
	if is == agreed {
		has.initiated, has.up = true, true
	}
	n.by[name] = has
	waits := has.initiated && !has.up && time.Since(has.asked) < patience
	return is == agreed || is == begun && !refused || is == none && waits
}

// Ended returns the keys of the profiles that initiate and are no longer active: the
// peer has ended the SA, refused it, or does not answer for long.
func Ended(ctx context.Context, vpp *session.VPP) (keys []string, err error) {
	n, err := sessionNotes.On(vpp)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	all := maps.Clone(n.by)
	n.mu.Unlock()
	maps.DeleteFunc(all, func(_ string, has note) bool { return !has.initiated })
	if len(all) == 0 {
		return nil, nil
	}
	c := &profileCalls{vpp: vpp}
	established, err := c.established(ctx)
	if err != nil {
		return nil, err
	}
	for name, has := range all {
		if !c.active(name, established(has.local, has.remote)) {
			keys = append(keys, model.ProfileModel.KeyFor(name))
		}
	}
	return keys, nil
}

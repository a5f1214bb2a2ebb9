package govppmux

import (
	"net/http"
	"slices"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
)

// Offer tells what items need of VPP, for who asks what the connected one can do.
// Plugins call it in Init.
func (p *Plugin) Offer(capabilities ...binding.Capability) {
	p.setup()
	p.offered.mu.Lock()
	defer p.offered.mu.Unlock()
	p.offered.all = append(p.offered.all, capabilities...)
}

// Capabilities returns what items need of VPP, in the order in which plugins
// offered them.
func (p *Plugin) Capabilities() []binding.Capability {
	p.offered.mu.Lock()
	defer p.offered.mu.Unlock()
	return slices.Clone(p.offered.all)
}

// Abilities tells what the connected VPP can do. The error is that of having none.
func (p *Plugin) Abilities() ([]binding.Ability, error) {
	all := p.Capabilities()
	out := make([]binding.Ability, 0, len(all))
	session := p.Session()
	if !session.Up {
		return nil, session.Err
	}
	for _, c := range all {
		a, err := c.Of(session.Conn)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// ServeCapabilities answers with the session and what its VPP can do; 503 if there
// is none.
func (p *Plugin) ServeCapabilities(w http.ResponseWriter, _ *http.Request) {
	abilities, err := p.Abilities()
	if err != nil {
		rest.WriteError(w, http.StatusServiceUnavailable, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, struct {
		VPP   sessionInfo       `json:"vpp"`
		Items []binding.Ability `json:"items"`
	}{p.sessionInfo(), abilities})
}

package govppmux

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.fd.io/govpp/binapi/vlib"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
)

// Offer registers the requirements of items, for reports about the connected VPP.
// Plugins call it in Init.
func (p *Plugin) Offer(capabilities ...binding.Capability) {
	p.setup()
	p.offered.mu.Lock()
	defer p.offered.mu.Unlock()
	p.offered.all = append(p.offered.all, capabilities...)
}

// Capabilities returns the requirements of items, in the order in which plugins
// offered them.
func (p *Plugin) Capabilities() []binding.Capability {
	p.offered.mu.Lock()
	defer p.offered.mu.Unlock()
	return slices.Clone(p.offered.all)
}

// Abilities returns the abilities of the connected VPP. Without a session the
// error is the reason for that.
func (p *Plugin) Abilities() ([]binding.Ability, error) {
	session := p.Session()
	if !session.Up {
		return nil, session.Err
	}
	return abilities(session.Conn, p.Capabilities())
}

func abilities(vpp binding.Checker, all []binding.Capability) ([]binding.Ability, error) {
	out := make([]binding.Ability, 0, len(all))
	for _, c := range all {
		a, err := c.Of(vpp)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// commandLine is the operation that the plugin offers itself; see RunCLI.
func commandLine() binding.Capability {
	return binding.Need("command line", "", (*vlib.CliInband)(nil), (*vlib.CliInbandReply)(nil))
}

// requireAll is the check of strict-compat: every operation that plugins offered has
// a variant that this VPP knows. The error names each operation that has none.
func requireAll(vpp binding.Checker, version string, operations []binding.Capability) error {
	all, err := abilities(vpp, operations)
	if err != nil {
		return err
	}
	var lacks []string
	for _, a := range all {
		if a.Uses == "" {
			lacks = append(lacks, a.Lack())
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("strict-compat: %w: VPP %s lacks %d of %d operations: %s; load the plugins of VPP, or set "+
		"strict-compat: false in govpp.conf, then only items that need these operations are UNIMPLEMENTED",
		binding.ErrUnsupported, version, len(lacks), len(all), strings.Join(lacks, "; "))
}

// capabilitiesResponse is the response of /vpp/capabilities.
type capabilitiesResponse struct {
	VPP   sessionInfo       `json:"vpp"`
	Items []binding.Ability `json:"items"`
}

// ServeCapabilities answers with the session and the abilities of its VPP; 503 if
// there is none.
func (p *Plugin) ServeCapabilities(w http.ResponseWriter, _ *http.Request) {
	abilities, err := p.Abilities()
	if err != nil {
		rest.WriteError(w, http.StatusServiceUnavailable, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, capabilitiesResponse{p.sessionInfo(), abilities})
}

package topology

import (
	"context"
	"net/http"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/rates"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/topology/response"
)

// VPPRates has what interfaces of VPP do per second.
type VPPRates interface {
	Rates(names []string) rates.Rates
}

// LinuxRates has what interfaces of Linux do per second.
type LinuxRates interface {
	Rates(ctx context.Context, names []string) rates.Rates
}

// ratesEndpoint is the endpoint of the rates in the picture.
func (p *Plugin) ratesEndpoint(query []string) rest.Endpoint {
	return rest.Endpoint{
		Path: Path + "/rates", Groups: []string{rest.GroupTelemetry, rest.GroupStats}, Query: query, Response: response.Rates{}, Handler: p.serveRates,
		Doc: "packets, bits, drops and errors of the interfaces in the picture of /topology with the same parameters, per second, by the IDs of nodes; of a group, the sum",
	}
}

func (p *Plugin) serveRates(w http.ResponseWriter, r *http.Request) {
	s, ok := selectionOf(w, r)
	if !ok {
		return
	}
	n, err := choose(named(draw(p.read())), s)
	if err != nil {
		writeNoNode(w, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, p.ratesOf(r.Context(), n))
}

// ratesOf returns the rates of the nodes of a picture. Counters are read where they are shown only, and not
// where they are simulated.
func (p *Plugin) ratesOf(ctx context.Context, n response.Network) response.Rates {
	byModel := map[string][]string{}
	for _, node := range n.Nodes {
		for _, id := range members(node) {
			if model, name, _ := strings.Cut(id, "/"); name != "" {
				byModel[model] = append(byModel[model], name)
			}
		}
	}
	out := response.Rates{Nodes: []rates.Interface{}}
	known := map[string]rates.Interface{}
	take := func(model string, of rates.Rates) *response.Counted {
		for _, r := range of.Interfaces {
			known[model+"/"+r.Name] = r
		}
		return &response.Counted{Up: of.Up, Reason: of.Reason, Seconds: of.Seconds}
	}
	if names := byModel[vppInterface]; len(names) > 0 && p.VPPRates != nil && !p.simulatesVPP() {
		out.VPP = take(vppInterface, p.VPPRates.Rates(names))
	}
	if names := byModel[linuxInterface]; len(names) > 0 && p.LinuxRates != nil && !p.simulatesLinux() {
		out.Linux = take(linuxInterface, p.LinuxRates.Rates(ctx, names))
	}
	for _, node := range n.Nodes {
		sum, any := rates.Interface{Name: node.ID}, false
		for _, id := range members(node) {
			if r, ok := known[id]; ok {
				sum.Add(r)
				any = true
			}
		}
		if any {
			out.Nodes = append(out.Nodes, sum)
		}
	}
	return out
}

// members returns the IDs of the nodes in a group, or of a node.
func members(n response.Node) []string {
	if n.Count > 0 {
		return n.Members
	}
	return []string{n.ID}
}

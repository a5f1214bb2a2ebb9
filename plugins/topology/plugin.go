// Package topology is the plugin with a picture of the network: VPP and the network namespaces of
// Linux as boxes, with interfaces, bridge domains, VRFs and bonds in them, and the cables, tunnels
// and memberships that link them, each with its state.
//
// The picture is computed from the values of the scheduler and from what their descriptors
// declare: an item that depends on another one is linked to it. table.go has what cannot be
// derived: which models are nodes, and what the links of derived values mean.
package topology

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	linuxmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/topology/response"
	linuxif "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Path is the endpoint of the picture.
const Path = "/topology"

// DefaultName is the name of the plugin.
const DefaultName = "topology"

// Plugin serves the picture.
type Plugin struct {
	Deps
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	HTTP      rest.HTTPHandlers
	Scheduler Scheduler
	// Models are the models of the agent.
	Models Models
	// Planner plans changes; nil: no plan is drawn.
	Planner Planner `optional:"true"`
	// VPP and Linux report the states of links; nil: they are unknown.
	VPP   VPPLinks   `optional:"true"`
	Linux LinuxLinks `optional:"true"`
	// VPPRates and LinuxRates count packets; nil: no rates are known.
	VPPRates   VPPRates   `optional:"true"`
	LinuxRates LinuxRates `optional:"true"`
	// Simulation reports whether VPP and Linux are simulated; nil: they are not.
	Simulation Simulation `optional:"true"`
}

// SetDefaults gives the plugin its name if it has none.
func (p *Plugin) SetDefaults() { p.SetDefaultName(DefaultName) }

// Scheduler is the part of the scheduler that is used.
type Scheduler interface {
	ListDescriptors() []*api.KVDescriptor
	ListValueStatus(keyPrefix string) []*api.BaseValueStatus
	DumpValuesByDescriptor(descriptor string, view api.View) ([]api.KVWithMetadata, error)
}

// Models has the models of the agent.
type Models interface{ Models() *models.Set }

// Planner plans the configuration in the body of a request; nil if it has sent an error response.
type Planner interface {
	PlanRequest(w http.ResponseWriter, r *http.Request) *orchestrator.Plan
}

// VPPLinks has the states of the interfaces of VPP.
type VPPLinks interface {
	List() []*interfaces.InterfaceState
}

// LinuxLinks has the states of the interfaces of Linux.
type LinuxLinks interface {
	List() []*linuxif.InterfaceState
}

// Simulation knows which southbounds are simulated.
type Simulation interface {
	SimulatesVPP() bool
	SimulatesLinux() bool
}

// Init registers the endpoint.
func (p *Plugin) Init() error {
	query := []string{"item", "contains", "kind", "box", "limit"}
	endpoints := []rest.Endpoint{{
		Path: Path, Groups: []string{rest.GroupDump}, Query: query, Response: response.Network{}, Handler: p.serve,
		Doc: "the network: VPP and the namespaces of Linux, interfaces, bridge domains, VRFs, bonds, and the links between them, with states; ?item=MODEL/NAME for one of them with its neighbours, ?contains=TEXT, ?kind=KIND and ?box=ID for some of them, ?limit=N groups more nodes",
	}, p.ratesEndpoint(query)}
	if p.Planner != nil {
		endpoints = append(endpoints, rest.Endpoint{
			Path: Path, Methods: []string{http.MethodPost}, Groups: []string{rest.GroupConfigValidation}, Query: append(query, "replace"),
			Response: response.Network{}, Handler: p.servePlan,
			Doc: "the network after the configuration in the body was applied, with the change of each node and link; body and ?replace as for /scheduler/plan",
		})
	}
	return p.HTTP.Register(p.String(), endpoints...)
}

func (p *Plugin) serve(w http.ResponseWriter, r *http.Request) {
	if s, ok := selectionOf(w, r); ok {
		write(w, p.simulated(named(draw(p.read()))), s)
	}
}

// servePlan serves the picture with a plan in it.
func (p *Plugin) servePlan(w http.ResponseWriter, r *http.Request) {
	s, ok := selectionOf(w, r)
	if !ok {
		return
	}
	plan := p.Planner.PlanRequest(w, r)
	if plan == nil {
		return // it has answered
	}
	before := p.read()
	after := planned(before, plan.Changes)
	write(w, p.simulated(named(difference(draw(before), draw(after), changedItems(before, after)))), s)
}

// selectionOf reads the parameters; ok is false if it has sent an error response.
func selectionOf(w http.ResponseWriter, r *http.Request) (s selection, ok bool) {
	q := r.URL.Query()
	s = selection{item: q.Get("item"), contains: q.Get("contains"), kind: q.Get("kind"), box: q.Get("box")}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			rest.WriteError(w, http.StatusBadRequest, fmt.Errorf("parameter limit: %q: expected a number of nodes, or 0 for all", text))
			return s, false
		}
		s.limit = int(n)
	}
	return s, true
}

// write sends the selected part of a network.
func write(w http.ResponseWriter, n response.Network, s selection) {
	n, err := choose(n, s)
	if err != nil {
		writeNoNode(w, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, n)
}

// writeNoNode answers a request for an item that is no node.
func writeNoNode(w http.ResponseWriter, err error) {
	rest.WriteError(w, http.StatusNotFound, fmt.Errorf("parameter item: %w", err))
}

// named gives the nodes of VRFs, which have an item for each protocol, the name of one of their items.
// Pictures are compared before: the items of a VRF may change.
func named(n response.Network) response.Network {
	names := map[string]string{}
	nameOf := func(id string) string { return cmp.Or(names[id], id) }
	for i := range n.Nodes {
		if node := &n.Nodes[i]; node.Kind == response.VRF {
			name := node.MissingItem
			if len(node.Items) > 0 {
				name = node.Items[0].Name
			}
			names[node.ID] = name
			node.ID = nameOf(node.ID)
		}
	}
	for i := range n.Links {
		n.Links[i].From, n.Links[i].To = nameOf(n.Links[i].From), nameOf(n.Links[i].To)
	}
	return n
}

// simulated notes in a picture which southbounds are simulated.
func (p *Plugin) simulated(n response.Network) response.Network {
	n.Simulated, n.SimulatedLinux = p.simulatesVPP(), p.simulatesLinux()
	return n
}

func (p *Plugin) simulatesVPP() bool { return p.Simulation != nil && p.Simulation.SimulatesVPP() }

func (p *Plugin) simulatesLinux() bool { return p.Simulation != nil && p.Simulation.SimulatesLinux() }

// read collects what the picture depends on.
func (p *Plugin) read() input {
	in := input{
		models: p.Models.Models(), descriptors: p.Scheduler.ListDescriptors(), values: map[string][]value{},
		links: map[linkName]linkState{}, hosts: map[string]bool{},
	}
	for _, list := range [][]modelKind{nodeModels, linkModels} {
		for _, m := range list {
			if known, ok := in.models.ForName(m.model); ok {
				in.values[m.model] = p.valuesOf(known, in.descriptors)
			}
		}
	}
	for _, s := range p.Scheduler.ListValueStatus(linuxmodel.HostInterfaceKey.Prefix()) {
		if host, ok := linuxmodel.ParseHostInterfaceKey(s.GetValue().GetKey()); ok {
			in.hosts[host] = true
		}
	}
	if p.VPP != nil {
		for _, s := range p.VPP.List() {
			in.links[linkName{vppInterface, s.GetName()}] = linkState{s.GetAdminStatus().String(), s.GetOperStatus().String()}
		}
	}
	if p.Linux != nil {
		for _, s := range p.Linux.List() {
			in.links[linkName{linuxInterface, s.GetName()}] = linkState{s.GetAdminStatus().String(), s.GetOperStatus().String()}
		}
	}
	return in
}

// valuesOf returns the values of a model, sorted by key: the desired ones, and what the southbound
// has besides.
func (p *Plugin) valuesOf(known models.Known, descriptors []*api.KVDescriptor) (list []value) {
	name := ""
	for _, d := range descriptors {
		if d.NBKeyPrefix == known.KeyPrefix() {
			name = d.Name
		}
	}
	messages := map[string]value{}
	for _, view := range []api.View{api.CachedView, api.NBView} {
		kvs, err := p.Scheduler.DumpValuesByDescriptor(name, view)
		if err != nil {
			continue // the agent has no descriptor for the model
		}
		for _, kv := range kvs {
			messages[kv.Key] = value{key: kv.Key, message: kv.Value, found: view == api.CachedView}
		}
	}
	for _, s := range p.Scheduler.ListValueStatus(known.KeyPrefix()) {
		if v, ok := messages[s.GetValue().GetKey()]; ok && v.message != nil {
			v.status = s
			list = append(list, v)
		}
	}
	return list
}

package app

import (
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/nlsim"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
)

// Simulation selects the simulated southbounds. With --simulate the agent programs
// a VPP and a Linux kernel that exist only in its process: it neither reads nor
// changes anything of the host. With --simulate=vpp only VPP is simulated.
//
// There is no mode with a real VPP and a simulated Linux: VPP attaches itself to
// interfaces of the real kernel.
type Simulation struct {
	SimulationDeps

	mode   simulationMode
	links  []string      // of the simulated Linux from the start
	kernel *nlsim.Kernel // nil: Linux is real
}

// SimulationDeps is what Simulation needs.
type SimulationDeps struct {
	infra.PluginDeps
	HTTP rest.HTTPHandlers `optional:"true"`
	// VPP returns the session with VPP, which may be a simulator of another process.
	VPP func() govppmux.Session
}

var _ nsplugin.Simulation = (*Simulation)(nil)

// simulationMode is the value of --simulate.
type simulationMode string

const (
	simulateNothing simulationMode = ""
	simulateVPP     simulationMode = "vpp"
	simulateAll     simulationMode = "all"
)

// String implements pflag.Value.
func (m *simulationMode) String() string { return string(*m) }

// Type implements pflag.Value.
func (m *simulationMode) Type() string { return "what" }

// Set implements pflag.Value. Booleans are accepted, because --simulate was one.
func (m *simulationMode) Set(text string) error {
	switch strings.ToLower(text) {
	case "all", "true", "1":
		*m = simulateAll
	case "vpp":
		*m = simulateVPP
	case "", "false", "0", "none":
		*m = simulateNothing
	default:
		return fmt.Errorf(`expected "all" (VPP and Linux, the same as without a value), "vpp" (VPP alone, Linux is real) or "none"`)
	}
	return nil
}

func newSimulation(http rest.HTTPHandlers, vpp func() govppmux.Session) *Simulation {
	s := &Simulation{}
	s.SetName("simulation")
	s.HTTP, s.VPP = http, vpp
	return s
}

// linksFlag names links of the simulated Linux.
const linksFlag = "simulate-links"

// DefineFlags adds --simulate and --simulate-links.
func (s *Simulation) DefineFlags(fs *pflag.FlagSet) {
	fs.Var(&s.mode, simulateFlag, "simulate `what`: all (VPP and Linux; the same as without a value: nothing of this host is "+
		"touched), vpp (VPP alone, Linux is real), none; a simulated VPP forwards no packets")
	fs.Lookup(simulateFlag).NoOptDefVal = string(simulateAll)
	fs.StringSliceVar(&s.links, linksFlag, nil, "`names` of links that the simulated Linux has from the start, as network cards of a host (eth0,eth1)")
}

// Init creates the simulated kernel.
func (s *Simulation) Init() error {
	switch {
	case s.mode == simulateAll:
		s.kernel = nlsim.New()
		for _, name := range s.links {
			s.kernel.AddCard(name)
		}
	case len(s.links) > 0:
		return fmt.Errorf("--%s: Linux is not simulated (--%s)", linksFlag, simulateFlag)
	}
	if s.HTTP == nil {
		return nil
	}
	return s.HTTP.Register(s.String(), rest.Endpoint{
		Path: "/info/simulated", Groups: []string{rest.GroupInfo}, Handler: s.serve, Response: map[string][]string{}, Doc: `the southbounds that are simulated: {"simulated": ["vpp", "linux"]}`,
	})
}

// SimulatesVPP returns whether the agent runs a simulated VPP.
func (s *Simulation) SimulatesVPP() bool { return s.mode != simulateNothing }

// SimulatesLinux returns whether Linux is simulated. It is valid once flags are
// parsed.
func (s *Simulation) SimulatesLinux() bool { return s.mode == simulateAll }

// Linux returns the simulated kernel; nil if Linux is real.
func (s *Simulation) Linux() *nlsim.Kernel { return s.kernel }

// Kernel implements nsplugin.Simulation.
func (s *Simulation) Kernel() netlinkapi.Namespaces {
	if s.kernel == nil {
		return nil
	}
	return s.kernel
}

// host connects the simulated VPP to the interfaces of Linux, simulated or real.
func (s *Simulation) host(opts *vppsim.Options) {
	if s.kernel == nil {
		opts.HostInterface = func(name string) bool {
			_, err := net.InterfaceByName(name)
			return err == nil
		}
		return
	}
	opts.HostInterface = s.kernel.HasLink
	opts.HostTAP = func(name string) (remove func(), err error) {
		id, err := s.kernel.AddTAP(name)
		return func() { s.kernel.RemoveTAP(id) }, err
	}
}

// serve returns the simulated southbounds.
func (s *Simulation) serve(w http.ResponseWriter, _ *http.Request) {
	simulated := []string{}
	if s.SimulatesVPP() || s.VPP().Simulated {
		simulated = append(simulated, "vpp")
	}
	if s.kernel != nil {
		simulated = append(simulated, nsplugin.Southbound)
	}
	rest.WriteJSON(w, http.StatusOK, map[string][]string{"simulated": simulated})
}

package app

import (
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/telemetry"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// newTelemetry returns the metrics of VPP. The plugin comes after the one for
// interfaces, which it asks for names.
func newTelemetry(a *VPPAgent, vpp *govppmux.Plugin) *telemetry.Plugin {
	return telemetry.NewPlugin(telemetry.UseDeps(func(d *telemetry.Deps) {
		d.VPP, d.Metrics, d.Label, d.Names = vpp, a.Metrics, a.Label, vppNames{a}
	}))
}

// vppNames tells telemetry what the configuration calls the interfaces of VPP.
type vppNames struct{ agent *VPPAgent }

// InterfaceName returns the name of the interface with an index in VPP.
func (n vppNames) InterfaceName(index uint32) (name string, ok bool) {
	name, _, ok = n.agent.VPPIfPlugin.Interfaces().LookupBySwIfIndex(index)
	return name, ok
}

// vppCounters gives the plugin for interfaces what telemetry reads. It is no
// dependency between the two plugins, which would be mutual.
type vppCounters struct{ agent *VPPAgent }

// InterfaceStatistics returns the counters of interfaces by name.
func (c vppCounters) InterfaceStatistics(maxAge time.Duration) (map[string]*interfaces.InterfaceState_Statistics, error) {
	return c.agent.Telemetry.InterfaceStatistics(maxAge)
}

// vppRecords gives the scheduler what the connection to VPP counts.
type vppRecords struct{ agent *VPPAgent }

// Records returns how many records of dumps VPP has sent.
func (r vppRecords) Records() uint64 { return r.agent.GoVPP.Records() }

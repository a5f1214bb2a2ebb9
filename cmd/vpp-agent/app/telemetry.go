package app

import (
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/telemetry"
	"github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// newTelemetry returns the plugin of VPP metrics. It comes after the interface
// plugin, from which it gets names.
func newTelemetry(a *VPPAgent, vpp *govppmux.Plugin) *telemetry.Plugin {
	return telemetry.NewPlugin(telemetry.UseDeps(func(d *telemetry.Deps) {
		d.VPP, d.Metrics, d.Label, d.Names, d.HTTP = vpp, a.Metrics, a.Label, vppNames{a}, a.HTTP
		d.Rules = vppRules{a}
	}))
}

// vppNames gives telemetry the configured names of VPP interfaces.
type vppNames struct{ agent *VPPAgent }

// InterfaceName returns the name of the interface with an index in VPP.
func (n vppNames) InterfaceName(index uint32) (name string, ok bool) {
	name, _, ok = n.agent.VPPIfPlugin.Interfaces().LookupBySwIfIndex(index)
	return name, ok
}

// vppRules gives telemetry the configured names of access control lists.
type vppRules struct{ agent *VPPAgent }

// ACLRule returns the list with an index in VPP, and the rule that VPP has at a position.
func (r vppRules) ACLRule(list uint32, position int) (name string, rule int, ok bool) {
	return aclplugin.Rule(r.agent.Scheduler, list, position)
}

// vppCounters gives the interface plugin the counters of telemetry, without a
// mutual dependency between the two plugins.
type vppCounters struct{ agent *VPPAgent }

// InterfaceStatistics returns the counters of interfaces by name.
func (c vppCounters) InterfaceStatistics(maxAge time.Duration) (map[string]*interfaces.InterfaceState_Statistics, error) {
	return c.agent.Telemetry.InterfaceStatistics(maxAge)
}

// vppRecords gives the scheduler the counters of the VPP connection.
type vppRecords struct{ agent *VPPAgent }

// Records returns the number of dump records that VPP has sent.
func (r vppRecords) Records() uint64 { return r.agent.GoVPP.Records() }

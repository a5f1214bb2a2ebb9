package archtest

// The lists of exceptions from the limits: an item, or a pattern as of path.Match, and
// the reason. An entry that is no longer needed fails a test.

const (
	checks   = "independent checks one after the other"
	reads    = "one case for each form of the text"
	fields   = "compares one field after the other"
	states   = "one case for each state of a value"
	notSplit = "does several steps that share their variables; not split yet"
)

var wideTypes = map[string]string{
	"plugins/govppmux/vppsim/internal/vnet.VNet": "a method for each request to the simulated VPP; they share its state and lock",
	"plugins/orchestrator.Plugin":                "not split yet: sources, endpoints and confirmation can be types of their own",
}

var complexFunctions = map[string]string{
	"cmd/agentctl/internal/cmdutil.Flags.validate":              checks,
	"infra/agent.resolver.field":                                "one case for each kind of Go value",
	"infra/config.decoder.value":                                "one case for each kind of Go value",
	"infra/kv/etcd.database.watch":                              "one case for each answer of a server to a watch",
	"infra/logging/logmanager.Hook.target":                      checks,
	"plugins/govppmux/vppsim/internal/cli.CLI.showBridgeDomain": "one output of VPP, with its columns in their order",
	"plugins/kvscheduler/internal/plan.State":                   states,
	"plugins/kvscheduler/internal/record.leftFlag":              "one case for each change of a state",
	"plugins/kvscheduler/internal/refresh.Refresher.ownership":  "one case for each policy and origin of a value",
	"plugins/kvscheduler/internal/registry.check":               checks,
	"plugins/kvscheduler/kvstest.cmdFail":                       reads,
	"plugins/kvscheduler/kvstest.txnOptions":                    reads,
	"plugins/orchestrator.Plugin.outcome":                       notSplit,
	"plugins/orchestrator.store.edit":                           notSplit,
	"plugins/orchestrator.wantedAfter":                          notSplit,
	"plugins/orchestrator/document.tagOf":                       reads,
	"plugins/vpp/ifplugin/descriptor.reading.addAddresses":      notSplit,
	"plugins/vpp/vpptest.Canonical":                             reads,
}

var longConditions = map[string]string{
	"infra/process.parseRange":                  checks,
	"plugins/govppmux/binding.ParseVersion":     checks,
	"plugins/linux/ifplugin/descriptor.iface.*": fields,
	"plugins/orchestrator/document.beginsWord":  "the ranges of letters and digits",
}

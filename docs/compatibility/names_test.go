package compatibility

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
)

// flags are the flags of the predecessor's vpp-agent.
func flags() []row {
	list := []row{
		{"-h", same, ""}, {"-version", same, ""}, {"-V", same, ""},
		{"--config-dir=DIR", same, ""}, {"--http-port=9191", same, ""}, {"--grpc-port=9111", same, ""},
		{"--microservice-label=vpp1", same, ""},
	}
	for _, plugin := range []string{
		"bolt", "consul", "cryptodata", "etcd", "filedb", "govpp", "grpc", "http", "initfileregistry", "kvscheduler", "linux-ifplugin",
		"linux-iptablesplugin", "linux-l3plugin", "linux-nsplugin", "logs", "probe", "redis", "status-check", "telemetry", "vpp-ifplugin",
	} {
		list = append(list, row{"--" + plugin + "-config=FILE", same, ""})
	}
	for _, plugin := range []string{
		"aggregator", "kafka", "msgsync", "netalloc", "restpapi", "resync", "vpp-abfplugin", "vpp-aclplugin", "vpp-dnsplugin", "vpp-ipfixplugin",
		"vpp-ipsec-plugin", "vpp-natplugin", "vpp-punt-plugin", "vpp-srplugin", "vpp-stn-plugin", "vpp-wg-plugin",
	} {
		list = append(list, row{"--" + plugin + "-config=FILE", better, "accepted; if it has no effect, a warning says what to use instead"})
	}
	return append(list, row{"--cassandra-config=FILE", cannot, "there is no connector for Cassandra; the start fails and says what to use instead"})
}

// metrics are the metrics of the predecessor; for missing ones, the text names the
// replacement.
func metrics() (list []row) {
	for prefix, names := range map[string]string{
		"ligato_kvscheduler_": "txn_processed txn_dropped queue_capacity queue_length queue_wait_seconds txn_process_duration_seconds txn_duration_seconds",
		"ligato_govppmux_": "channels_created_total channels requests_total requests requests_failed_total requests_done_total replies_received_total " +
			"successful_request_duration_seconds",
		"vpp_runtime_":    "calls vectors suspends clocks vectors_per_call",
		"vpp_memory_":     "objects used total free trimmable free_chunks free_fastbin_blks max_total_allocated size pages",
		"vpp_buffers_":    "size alloc free num_alloc num_free",
		"vpp_nodes_":      "counter",
		"vpp_interfaces_": "rx_packets rx_bytes rx_errors tx_packets tx_bytes tx_errors drops punts ip4 ip6 rx_no_buf rx_miss",
		"grpc_server_":    "started_total handled_total msg_received_total msg_sent_total",
	} {
		for name := range strings.FieldsSeq(names) {
			n := row{prefix + name, same, ""}
			if how := missingMetrics[n.what]; how != "" {
				n.verdict, n.how = cannot, how
			}
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b row) int { return strings.Compare(a.what, b.what) })
	return list
}

// missingMetrics say what is there instead.
var missingMetrics = map[string]string{
	"ligato_govppmux_successful_request_duration_seconds": "`ligato_kvscheduler_operation_duration_seconds` has the time of operations, by descriptor",
	"vpp_buffers_alloc":            "`vpp_buffers_num_alloc` counts the buffers; only the command line of VPP has their bytes",
	"vpp_buffers_free":             "`vpp_buffers_num_free` counts the buffers; only the command line of VPP has their bytes",
	"vpp_buffers_size":             onlyCLI,
	"vpp_memory_free_fastbin_blks": onlyCLI,
	"vpp_memory_objects":           onlyCLI,
	"vpp_memory_pages":             onlyCLI,
	"vpp_memory_size":              "`vpp_memory_total` is the size of the heap",
}

const onlyCLI = "the statistics of VPP do not have it, only its command line"

// TestFlags gives each flag to an agent.
func TestFlags(t *testing.T) {
	t.Parallel()
	for _, f := range flags() {
		plugins, err := app.New()
		if err != nil {
			t.Fatal(err)
		}
		flag := strings.NewReplacer("DIR", t.TempDir(), "FILE", "none.conf").Replace(f.what)
		args := []string{flag}
		if f.verdict != cannot { // the command line is read, and nothing is started
			args = append(args, "--version")
		}
		a := agenttest.New(t, agent.AllPlugins(plugins), agent.Output(io.Discard), agent.Args(append(args, "--config-dir", t.TempDir(), "--simulate", "--http-port", "0")...))
		if err = a.Run(); (err != nil) != (f.verdict == cannot) {
			t.Errorf("%s: %v", f.what, err)
		}
	}
}

// TestMetrics looks for the names in the reference, which is made of the metrics of an agent.
func TestMetrics(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range metrics() {
		if strings.Contains(string(page), "| `"+m.what+"` |") != (m.verdict == same) {
			t.Errorf("%s is %s: %s", m.what, m.verdict, m.how)
		}
		if _, replacement, ok := strings.Cut(m.how, "`"); ok {
			if replacement, _, _ = strings.Cut(replacement, "`"); !strings.Contains(string(page), "| `"+replacement+"` |") {
				t.Errorf("%s: there is no metric %s", m.what, replacement)
			}
		}
	}
}

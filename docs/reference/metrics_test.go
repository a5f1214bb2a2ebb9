package reference

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg"
	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg/statsegtest"
)

// metric is the description of one metric.
type metric struct{ kind, labels, help string }

// writeMetrics lists the metrics of a running agent. Names, labels and help come from
// the registered descriptions; the types come from a scrape, for which the agent has
// to have done a little of everything.
func writeMetrics(t *testing.T, w *writer) {
	dir := t.TempDir()
	vpp := vppsim.New(vppsim.Options{})
	if err := vpp.ListenUnix(filepath.Join(dir, "api.sock")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vpp.Close() })
	bad := newBad()
	plugins := startAgentWith(t, bad, map[string]string{
		"filedb": "configuration-paths: [" + dir + "]\n",
		"govpp":  "binapi-socket-path: " + filepath.Join(dir, "api.sock") + "\nstats-socket-path: " + statsegtest.Serve(t, segment().Bytes()).Socket + "\n",
	})
	t.Cleanup(func() { close(bad.release) }) // before the agent stops, which waits for it
	exercise(t, plugins)
	readAll(t, get(t, plugins, "/scheduler/drift?detect=1"))
	for _, path := range []string{"/metrics", "/health"} {
		found := scrape(t, plugins, path)
		if path == "/metrics" {
			describe(t, plugins, found)
		}
		w.printf("\n## %s\n", path)
		w.heading("metric", "type", "labels", "")
		for _, name := range sorted(found) {
			m := found[name]
			if m.kind == "" || m.help == "" {
				t.Errorf("%s: type %q, help %q", name, m.kind, m.help)
			}
			w.row(code(name), m.kind, code(m.labels), m.help)
		}
	}
}

// exercise makes the agent do what its metrics are about.
func exercise(t *testing.T, plugins *app.VPPAgent) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if _, err := plugins.GoVPP.WaitSession(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := plugins.Scheduler.StartNBTransaction().Commit(ctx, kvs.WithResync(kvs.DownstreamResync, true)); err != nil {
		t.Fatal(err)
	}
	txn := plugins.Scheduler.StartNBTransaction().SetValue("hangs/1", &emptypb.Empty{})
	if _, err := txn.Commit(ctx, kvs.WithDescription("hangs")); err == nil {
		t.Fatal("a callback that hangs did not fail")
	}
	conn, err := rpc.NewClient(plugins.GRPC.Addr().String(), rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
}

// scrape reads the metrics that have samples.
func scrape(t *testing.T, plugins *app.VPPAgent, path string) map[string]metric {
	t.Helper()
	readAll(t, get(t, plugins, path)) // to its end, so that the HTTP server has counted it
	resp := get(t, plugins, path)
	defer resp.Body.Close()
	found := map[string]metric{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text()
		if name, help, ok := strings.Cut(strings.TrimPrefix(line, "# HELP "), " "); ok && strings.HasPrefix(line, "# HELP ") && !isRuntime(name) {
			found[name] = metric{help: help}
		} else if name, kind, ok := strings.Cut(strings.TrimPrefix(line, "# TYPE "), " "); ok && strings.HasPrefix(line, "# TYPE ") && !isRuntime(name) {
			found[name] = metric{kind, "", found[name].help}
		} else if name, rest, ok := strings.Cut(line, "{"); ok && found[name].kind != "" {
			m := found[name]
			m.labels = labelsOf(rest)
			found[name] = m
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

func readAll(t *testing.T, resp *http.Response) {
	t.Helper()
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
}

func isRuntime(name string) bool {
	return strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "promhttp_")
}

var label = regexp.MustCompile(`([a-zA-Z_]+)="`)

func labelsOf(sample string) string {
	var names []string
	for _, m := range label.FindAllStringSubmatch(sample, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// described is how a description of Prometheus writes itself, which is the only way
// to read it.
var described = regexp.MustCompile(`^Desc\{fqName: "(.*?)", help: "(.*?)"(?:, unit: "(.*?)")?, constLabels: \{(.*?)\}, variableLabels: \{(.*?)\}\}$`)

// describe adds registered metrics without a sample, and the labels.
func describe(t *testing.T, plugins *app.VPPAgent, found map[string]metric) {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		plugins.Metrics.Registry().(*prometheus.Registry).Describe(descs)
	}()
	for d := range descs {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			t.Errorf("not understood: %s", d)
			continue
		}
		name := m[1]
		if isRuntime(name) {
			continue
		}
		names := strings.FieldsFunc(m[5], func(r rune) bool { return r == ',' || r == ' ' })
		if strings.Contains(m[4], "agent=") {
			names = append(names, "agent")
		}
		slices.Sort(names)
		kind := found[name].kind
		if kind == "" {
			kind = conventional(name)
		}
		found[name] = metric{kind, strings.Join(names, ", "), strings.ReplaceAll(m[2], `\"`, `"`)}
	}
}

// conventional is the type of a metric without samples, by the conventions for names
// that all metrics here follow; "" if they do not report.
func conventional(name string) string {
	switch {
	case strings.HasSuffix(name, "_total"), strings.HasPrefix(name, "vpp_interfaces_"):
		return "counter"
	case strings.HasPrefix(name, "vpp_"), strings.HasSuffix(name, "_timestamp_seconds"), strings.HasSuffix(name, "_sessions"):
		return "gauge"
	}
	return ""
}

// bad is a plugin with a descriptor that breaks its contract and one that hangs, which
// is counted. They are two, for the one that hangs is given no time: reading in time
// is not to be luck.
type bad struct {
	infra.PluginDeps
	Scheduler kvs.Registrar
	release   chan struct{} // closed to let callbacks return
}

func newBad() *bad {
	p := &bad{release: make(chan struct{})}
	p.SetName("bad")
	return p
}

func (p *bad) Init() error {
	wrong := &kvs.KVDescriptor{
		Name: "wrong", NBKeyPrefix: "wrong/", ValueTypeName: "google.protobuf.Empty",
		KeySelector: func(key string) bool { return strings.HasPrefix(key, "wrong/") },
		Retrieve: func([]kvs.KVWithMetadata) ([]kvs.KVWithMetadata, error) {
			return []kvs.KVWithMetadata{{Key: "not-mine", Value: &emptypb.Empty{}}}, nil
		},
	}
	hangs := &kvs.KVDescriptor{
		Name: "hangs", NBKeyPrefix: "hangs/", ValueTypeName: "google.protobuf.Empty", Timeout: time.Millisecond,
		KeySelector: func(key string) bool { return strings.HasPrefix(key, "hangs/") },
		Create:      func(string, proto.Message) (kvs.Metadata, error) { <-p.release; return nil, nil },
		Delete:      func(string, proto.Message, kvs.Metadata) error { return nil },
	}
	return errors.Join(p.Scheduler.RegisterKVDescriptor(wrong), p.Scheduler.RegisterKVDescriptor(hangs))
}

// segment is the stats segment of a VPP with a little of everything in it.
func segment() *statsegtest.Builder {
	return new(statsegtest.Builder).
		Names("/if/names", "local0").
		Combined("/if/rx", []statseg.Count{{Packets: 1, Bytes: 60}}).
		Names("/sys/node/names", "ip4-lookup").
		Simple("/sys/node/calls", []uint64{1}).Simple("/sys/node/vectors", []uint64{1}).
		Simple("/sys/node/clocks", []uint64{1}).Simple("/sys/node/suspends", []uint64{1}).
		Simple("/sys/vector_rate_per_worker", []uint64{1}).Simple("/sys/loops_per_worker", []uint64{1}).
		Entry("/sys/vector_rate", statseg.Gauge, 1).Entry("/sys/input_rate", statseg.Gauge, 1).Scalar("/sys/num_worker_threads", 1).
		Scalar("/sys/boottime", 1).Scalar("/sys/last_stats_clear", 1).Scalar("/sys/heartbeat", 1).
		Simple("/node/errors", []uint64{1}).Symlink("/err/ip4-input/bad checksum", "/node/errors", 0).
		Simple("/mem/main heap", []uint64{1, 1, 1, 1, 1, 1, 1}).
		Scalar("/buffer-pools/default-numa-0/used", 1).Scalar("/buffer-pools/default-numa-0/available", 1).
		Scalar("/buffer-pools/default-numa-0/cached", 1)
}

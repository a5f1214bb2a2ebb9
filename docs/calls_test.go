package docs

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	interfaces "go.fd.io/govpp/binapi/interface"
	"google.golang.org/grpc"

	"github.com/tenuto-dev/tenuto/client/genericclient"
	"github.com/tenuto-dev/tenuto/client/remote"
	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/examples/tutorials/101_custom-agent/hosts/model"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/datasync/kvdbsync"
	infragrpc "github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/health/statuscheck"
	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/process"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/idxvpp"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/natplugin"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
)

// Host is a message with a model.
type Host = model.Host

// Metadata is the metadata of a descriptor.
type Metadata struct{ Addresses []string }

// caller is a plugin with the calls of the right column in "Calls of Go code".
type caller struct {
	infra.PluginDeps
	GRPC      *infragrpc.Plugin
	Metrics   *metrics.Plugin
	Store     kv.Connector
	GoVPP     *govppmux.Plugin
	Processes *process.Plugin
}

// Init returns the error of its configuration.
func (p *caller) Init() error {
	_, err := p.Cfg.LoadValue(&struct{}{})
	return err
}

func (p *caller) services(host infra.Host, service pb.ConfiguratorServiceServer, collector prometheus.Collector, handler http.HandlerFunc) (rest.Endpoint, []health.Status, error) {
	if err := host.Loggers().SetLevel("worker", logging.DebugLevel); err != nil {
		return rest.Endpoint{}, nil, err
	}
	logging.ForPlugin("worker").Info("begins")
	if err := p.GRPC.Register(&pb.ConfiguratorService_ServiceDesc, service); err != nil {
		return rest.Endpoint{}, nil, err
	}
	err := p.Metrics.Registry().Register(collector)
	return rest.Endpoint{Path: "/greeting", Groups: []string{"greeters"}, Handler: handler}, host.Health().Snapshot().Plugins, err
}

func (p *caller) stores(ctx context.Context, cfg etcd.Config, key string, data []byte, iterator datasync.KeyValIterator) (bool, error) {
	for value := range iterator {
		p.Log.Info("value", "key", value.GetKey())
	}
	if _, _, err := etcd.Open(cfg); err != nil {
		return false, err
	}
	return p.Store.DB().CompareAndSwap(ctx, key, nil, data)
}

var byAddress = idxmap.Index[*Metadata, string]{Name: "address", Keys: func(m *Metadata) []string { return m.Addresses }}

func (p *caller) metadata(ctx context.Context, scheduler kvs.KVScheduler, title, name, address string) (kvs.KVDescriptor, []string, error) {
	d := kvs.KVDescriptor{
		MetadataMapFactory: func() *idxmap.Store { return idxmap.New[*Metadata](title) },
	}
	if _, err := idxvpp.Of(scheduler.GetMetadataMap(name)); err != nil {
		return d, nil, err
	}
	mapping, err := idxmap.Of[*Metadata](scheduler.GetMetadataMap(name))
	if err != nil {
		return d, nil, err
	}
	for change := range mapping.Changes(ctx) {
		p.Log.Info("changed", "name", change.Label)
	}
	return d, byAddress.Lookup(mapping, address), nil
}

func (p *caller) others(ctx context.Context, a *agent.Agent, name, command string, f func(), conn grpc.ClientConnInterface) (genericclient.GenericClient, error) {
	p.GoVPP.OnSession(func(s govppmux.Session) { f() })
	if _, err := p.Processes.Add(process.Spec{Name: name, Path: command, Args: []string{"-v"}}); err != nil {
		return nil, err
	}
	c, err := remote.New(ctx, conn, allmodels.MustSet())
	if err != nil {
		return nil, err
	}
	return genericclient.New(c), a.Start(ctx)
}

type withInterfaces struct{ IfPlugin *ifplugin.Plugin }

type withACLs struct{ ACLPlugin *itemplugin.Plugin }

// parts are plugins in the right column.
func parts(p *caller, etcdSync *kvdbsync.Plugin, w io.Writer) []any {
	logging.DefaultLogger.Info("begins")
	return []any{
		withInterfaces{&ifplugin.DefaultPlugin}, withACLs{aclplugin.NewPlugin()}, natplugin.NewPlugin(), iptablesplugin.NewPlugin(),
		interfaces.NewServiceClient(p.GoVPP.Conn()),
		statuscheck.UseDeps(func(d *statuscheck.Deps) { d.Default = []publish.Store{&etcd.DefaultPlugin} }),
		orchestrator.NewPlugin(orchestrator.UseWatchers(etcdSync)),
		agent.Logging(logging.NewRegistry(logging.WithWriter(w))),
		agent.NewAgent(agent.Args(), agent.AllPlugins(p)),
	}
}

// The calls are compiled, and not made.
var _ = []any{(*caller).Init, (*caller).services, (*caller).stores, (*caller).metadata, (*caller).others, parts}

// TestCallsInTheTable runs some of the calls in the right column of the table "Calls of Go code".
// TestRightColumnsCompile checks that they compile.
func TestCallsInTheTable(t *testing.T) {
	t.Parallel()
	rows := tableOf(t, "## Calls of Go code")
	if len(rows) < 20 {
		t.Errorf("found %d rows, expected 20 or more", len(rows))
	}
	spec := models.Spec{Module: "test", Version: "v1", Type: "hosts"}
	HostModel := models.New(spec, func(h *Host) string { return h.Name })
	if of := models.Of[*Host](); of.Name().String() != "{name}" {
		t.Errorf("names of hosts are %s", of.Name())
	}
	host := &Host{Name: "gateway"}
	key, err := HostModel.KeyOf(host)
	if err != nil || key != "config/test/v1/hosts/gateway" {
		t.Errorf("key %q, %v", key, err)
	}
	if !HostModel.Matches(key) || HostModel.Label(key) != "gateway" || string(HostModel.ProtoName()) != "tenuto.tutorial.Host" {
		t.Errorf("label %q of %s", HostModel.Label(key), string(HostModel.ProtoName()))
	}
	if _, err := app.New(app.WithModels(HostModel)); err != nil {
		t.Error(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/greeting/Ada", nil)
	if err != nil {
		t.Fatal(err)
	}
	mux, got := http.NewServeMux(), ""
	mux.HandleFunc("/greeting/{name}", func(_ http.ResponseWriter, req *http.Request) { got = req.PathValue("name") })
	if mux.ServeHTTP(nil, req); got != "Ada" {
		t.Errorf("got name %q, expected Ada", got)
	}
}

// TestImportPaths checks that the packages of the table "Import paths of Go code" exist.
func TestImportPaths(t *testing.T) {
	t.Parallel()
	rows := tableOf(t, "## Import paths of Go code")
	if len(rows) < 12 {
		t.Errorf("found %d rows, expected 12 or more", len(rows))
	}
	for _, row := range rows {
		for _, path := range codeIn(row[1]) {
			files, err := filepath.Glob(filepath.Join("..", strings.TrimSuffix(path, "..."), "*"))
			if err != nil || len(files) == 0 {
				t.Errorf("%s: there is no package %s", row[0], path)
			}
		}
	}
}

// tableOf returns the two columns of the first table in a section of migrating.md.
func tableOf(t *testing.T, heading string) (rows [][2]string) {
	t.Helper()
	text, err := os.ReadFile("migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), heading+"\n")
	if !found {
		t.Fatalf("migrating.md has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.SplitSeq(section, "\n") {
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if strings.HasPrefix(line, "| ") && len(cells) == 2 && !strings.HasPrefix(line, "| before") && !strings.HasPrefix(line, "| there") {
			rows = append(rows, [2]string{strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1])})
		}
	}
	return rows
}

var inlineCode = regexp.MustCompile("`([^`]+)`")

func codeIn(cell string) (all []string) {
	for _, m := range inlineCode.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

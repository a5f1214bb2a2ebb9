package app_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// The secret of a memif is nowhere to be seen unless it is asked for.
const (
	memifSecret = "Sesam-oeffne-dich"
	memifKey    = "config/vpp/v2/interfaces/memif1"
	memifs      = `
vppConfig:
  interfaces:
  - {name: memif1, type: MEMIF, enabled: true, memif: {id: 1, secret: Sesam-oeffne-dich, socketFilename: /run/vpp/memif-test.sock}}
`
)

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	plugins, err := app.New()
	if err != nil {
		t.Fatal(err)
	}
	h := &house{VPPAgent: plugins, dir: t.TempDir()}
	h.write(t, "network.yaml", memifs)
	h.write(t, "filedb.conf", "configuration-paths: ["+h.dir+"/network.yaml]\n")
	h.write(t, "linux-nsplugin.conf", "disabled: true\n")
	h.write(t, "kvscheduler.conf", "print-txn-summary: false\n")
	log := &infratest.Buffer{}
	h.agent = agenttest.New(t, agent.AllPlugins(plugins), agent.Logging(logging.NewRegistry(logging.WithWriter(log), logging.WithForcedLevel(logging.DebugLevel))),
		agent.Args("--config-dir", h.dir, "--http-port", "0", "--grpc-port", "0", "--simulate"))
	if err := h.agent.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.send(t, "GET", "/scheduler/wait?key="+memifKey+"&timeout=2m", "", 200)
	for _, path := range h.paths(t) {
		body := h.send(t, "GET", path, "", 0)
		if strings.Contains(body, memifSecret) {
			t.Errorf("GET %s shows the secret", path)
		}
	}
	if !strings.Contains(log.String(), "DEBUG") || strings.Contains(log.String(), memifSecret) {
		t.Error("the log shows the secret, or has nothing")
	}
	for _, path := range []string{
		"/configuration", "/scheduler/dump?descriptor=vpp-interface&view=NB", "/scheduler/txn-history",
		"/scheduler/key-timeline?key=" + memifKey, "/scheduler/graph-snapshot",
	} {
		sign := "?"
		if strings.Contains(path, "?") {
			sign = "&"
		}
		if body := h.send(t, "GET", path, "", 200); !strings.Contains(body, logging.Hidden) {
			t.Errorf("GET %s does not have the value at all", path)
		}
		if body := h.send(t, "GET", path+sign+"show-secrets=true", "", 200); !strings.Contains(body, memifSecret) {
			t.Errorf("GET %s with show-secrets does not show the secret", path)
		}
	}
}

// Over gRPC, too, secrets are shown to who asks for them.
func TestSecretsOverGRPC(t *testing.T) {
	t.Parallel()
	h := newHouse(t, memifs, "--simulate")
	h.start(t)
	h.await(t, memifKey, pb.ValueState_CONFIGURED)
	conn, err := rpc.NewClient(h.GRPC.Addr().String(), rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := configurator.NewConfiguratorServiceClient(conn)
	for want, ctx := range map[string]context.Context{
		logging.Hidden: t.Context(), memifSecret: metadata.AppendToOutgoingContext(t.Context(), grpc.ShowSecretsMetadata, "true"),
	} {
		wanted, err := c.Get(ctx, &configurator.GetRequest{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := c.Dump(ctx, &configurator.DumpRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, cfg := range []*configurator.Config{wanted.GetConfig(), found.GetDump()} {
			if !strings.Contains(prototext.Format(cfg), `"`+want+`"`) {
				t.Errorf("expected %s in %v", want, cfg)
			}
		}
		if _, err := c.Update(ctx, &configurator.UpdateRequest{Update: wanted.GetConfig()}); err != nil {
			t.Errorf("given back with %s: %v", want, err)
		}
	}
	h.wantSecret(t)
	all, err := generic.NewManagerServiceClient(conn).GetConfig(t.Context(), &generic.GetConfigRequest{})
	if err != nil {
		t.Fatal(err)
	}
	req := &generic.SetConfigRequest{OverwriteAll: true}
	for _, it := range all.GetItems() {
		if strings.Contains(string(it.GetItem().GetData().GetAny().GetValue()), memifSecret) {
			t.Error("ManagerService shows the secret")
		}
		req.Updates = append(req.Updates, &generic.UpdateItem{Item: it.GetItem()})
	}
	if _, err := generic.NewManagerServiceClient(conn).SetConfig(t.Context(), req); err != nil {
		t.Errorf("given back: %v", err)
	}
	h.wantSecret(t)
	other := &interfaces.Interface{Name: "memif2", Type: interfaces.Interface_MEMIF, Link: &interfaces.Interface_Memif{
		Memif: &interfaces.MemifLink{Id: 2, Secret: logging.Hidden, SocketFilename: "/run/vpp/memif-test.sock"}}}
	_, err = c.Update(t.Context(), &configurator.UpdateRequest{Update: &configurator.Config{VppConfig: &vpp.ConfigData{Interfaces: []*interfaces.Interface{other}}}})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "no secret is stored for this item") {
		t.Errorf("an item without a secret: %v", err)
	}
}

// wantSecret expects the secret of the memif in the configuration and in VPP.
func (h *house) wantSecret(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/configuration?", "/scheduler/dump?descriptor=vpp-interface&view=NB&", "/scheduler/dump?descriptor=vpp-interface&view=cached&"} {
		if body := h.send(t, "GET", path+"show-secrets=true", "", 200); !strings.Contains(body, memifSecret) || strings.Contains(body, logging.Hidden) {
			t.Errorf("GET %s does not have the secret:\n%s", path, body)
		}
	}
}

// A plan without secrets cannot be applied; a configuration without them can be given
// back and keeps them.
func TestPlansWithSecrets(t *testing.T) {
	t.Parallel()
	h := newHouse(t, network, "--simulate")
	h.start(t)
	h.await(t, loopKey, pb.ValueState_CONFIGURED) // so that VPP is there
	const change = "/scheduler/plan"
	hidden := h.send(t, "POST", change, memifs, 200)
	if strings.Contains(hidden, memifSecret) || !strings.Contains(hidden, `"Hidden": true`) {
		t.Errorf("the plan is\n%s", hidden)
	}
	if body := h.send(t, "POST", "/scheduler/apply", hidden, 400); !strings.Contains(body, "the secrets of the plan are hidden: expected a plan made with the parameter show-secrets") {
		t.Errorf("got %s", body)
	}
	plan := h.send(t, "POST", change+"?show-secrets=true", memifs, 200)
	if body := h.send(t, "POST", "/scheduler/apply", plan, 200); !strings.Contains(body, "CONFIGURED") {
		t.Errorf("got %s", body)
	}
	shown := h.send(t, "GET", "/configuration", "", 200)
	changed := strings.Replace(shown, "id: 1\n", "id: 7\n", 1)
	h.send(t, "PUT", "/configuration?replace", shown, 200)
	h.send(t, "PUT", "/configuration", changed, 200)
	if body := h.send(t, "GET", "/configuration", "", 200); changed == shown || body != changed {
		t.Errorf("the configuration is\n%s\nexpected\n%s", body, changed)
	}
	h.wantSecret(t)
	unknown := strings.Replace(shown, "name: memif1", "name: memif2", 1)
	for _, path := range []string{"/configuration", change} {
		method := map[bool]string{true: "PUT", false: "POST"}[path == "/configuration"]
		if body := h.send(t, method, path, unknown, 400); !strings.Contains(body, "vppConfig.interfaces[1].memif.secret") || !strings.Contains(body, "no secret is stored for this item") {
			t.Errorf("got %s", body)
		}
	}
	full := h.send(t, "GET", "/configuration?show-secrets=true", "", 200)
	h.send(t, "PUT", "/configuration", full, 200)
}

// send makes a request and returns the answer; a status of 0 is any.
func (h *house) send(t *testing.T, method, path, body string, status int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, h.HTTP.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || status != 0 && resp.StatusCode != status {
		t.Errorf("%s %s: status %d, expected %d: %v\n%s", method, path, resp.StatusCode, status, err, answer)
	}
	return string(answer)
}

// paths are all endpoints that can be read, with arguments where they need some.
func (h *house) paths(t *testing.T) []string {
	t.Helper()
	var api struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(h.send(t, "GET", "/openapi.json", "", 200)), &api); err != nil {
		t.Fatal(err)
	}
	paths := []string{
		"/configuration?source=filedb", "/scheduler/dump?descriptor=vpp-interface&view=NB", "/scheduler/dump?descriptor=vpp-interface&view=cached",
		"/scheduler/dump?descriptor=vpp-interface&view=SB", "/scheduler/key-timeline?key=" + memifKey, "/scheduler/why?key=" + memifKey,
		"/scheduler/txn-history?format=text", "/scheduler/txn-history?seq-num=0", "/scheduler/drift?detect=1", "/scheduler/graph?format=dot",
		"/scheduler/status?key=" + memifKey,
	}
	for path, methods := range api.Paths {
		if methods["get"] != nil && path != "/scheduler/watch" && !strings.Contains(path, "{") { // which does not end
			paths = append(paths, path)
		}
	}
	if len(paths) < 30 {
		t.Errorf("%d endpoints: expected all of the agent", len(paths))
	}
	return paths
}

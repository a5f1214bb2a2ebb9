package deploy

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/cli"
	controller "github.com/tenuto-dev/tenuto/cmd/tenuto-controller/app"
	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/infra/supervisor"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// configDir is where the programs look for their configuration.
const configDir = "/etc/vpp-agent"

// credentials are the credentials in the Secret of the manifest.
var credentials = map[string]string{"AGENTCTL_HTTP_BASIC_AUTH": "admin:secret", "AGENTCTL_GRPC_TOKEN": "secret"}

// environ has nothing but the credentials.
func environ(name string) (string, bool) {
	value, set := credentials[name]
	return value, set
}

// checkCommand makes sure that a program of ours takes its arguments, with the
// configuration in dir; others are left alone.
func checkCommand(t *testing.T, dir string, command []string) {
	t.Helper()
	var args []string
	from := configDir
	if command[0] == "/usr/bin/tenuto-controller" {
		from = "/etc/tenuto-controller"
	}
	for _, arg := range command[1:] {
		args = append(args, strings.ReplaceAll(arg, from, dir))
	}
	if !strings.Contains(strings.Join(command, " "), from) {
		t.Errorf("%q does not say where its configuration is", command)
	}
	var a *agent.Agent
	switch command[0] {
	case "/usr/bin/vpp-agent":
		plugins, err := app.New()
		if err != nil {
			t.Fatal(err)
		}
		a = agent.NewAgent(agent.AllPlugins(plugins), agent.Args(args...), agent.Environ(environ), agent.Output(io.Discard))
	case "/usr/bin/vpp-agent-init":
		a = agent.NewAgent(agent.AllPlugins(supervisor.NewPlugin()), agent.Args(args...), agent.Environ(environ), agent.Output(io.Discard))
	case "/usr/bin/tenuto-controller":
		a = agent.NewAgent(agent.AllPlugins(controller.New()), agent.Args(args...), agent.Environ(environ), agent.Output(io.Discard))
	default:
		t.Errorf("%q is no program of ours", command)
		return
	}
	err := a.ValidateConfig()
	if n := len(args); n > 1 && slices.Equal(args[n-2:], []string{"config", "validate"}) {
		err = a.Run()
	}
	if err != nil {
		t.Errorf("%q: %v", command, err)
	}
}

// write makes files of a ConfigMap.
func write(t *testing.T, m configMap) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range m.Data {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestKubernetesCommands(t *testing.T) {
	t.Parallel()
	configMap, daemonSet := read(t)
	dir := write(t, configMap)
	for _, c := range daemonSet.Spec.Template.Spec.Containers {
		checkCommand(t, dir, c.Command)
		for _, env := range c.Env {
			if _, ok := credentials[env.Name]; ok {
				checkCredential(t, configMap, env.Name)
			} else {
				checkVariable(t, env.Name)
			}
		}
	}
	cfg, found, err := config.Load(config.Text("supervisor", configMap.Data["supervisor.conf"]), supervisor.DefaultConfig())
	if err != nil || !found || len(cfg.Programs) != 2 {
		t.Fatalf("supervisor.conf: %v, %+v", err, cfg)
	}
	checkCommand(t, dir, append([]string{cfg.Programs[1].ExecutablePath}, cfg.Programs[1].ExecutableArgs...))
	vpp := cfg.Programs[0]
	file, ok := strings.CutPrefix(vpp.ExecutableArgs[1], configDir+"/")
	if startup := configMap.Data[file]; !ok || vpp.ExecutableArgs[0] != "-c" || !strings.Contains(startup, "nodaemon") ||
		!strings.Contains(startup, "socket-name /run/vpp/api.sock") || !strings.Contains(configMap.Data["govpp.conf"], "/run/vpp/api.sock") {
		t.Errorf("VPP is started as %q with\n%s", vpp.ExecutableArgs, startup)
	}
	if grace := daemonSet.Spec.Template.Spec.TerminationGracePeriodSeconds; grace < 15 {
		t.Errorf("%d s are not enough to stop the agent, then VPP", grace)
	}
}

// checkCredential makes sure that a variable is used by the configuration, and by
// agentctl in the same pod.
func checkCredential(t *testing.T, m configMap, name string) {
	t.Helper()
	if used := strings.Join(slices.Collect(maps.Values(m.Data)), ""); !strings.Contains(used, "${env:"+name+"}") {
		t.Errorf("the configuration does not use %s", name)
	}
	if help := cli.Commands().PersistentFlags().FlagUsages(); !strings.Contains(help, "["+name+"]") {
		t.Errorf("%s is no variable of agentctl", name)
	}
}

// checkVariable makes sure that an environment variable stands for a flag of the agent.
func checkVariable(t *testing.T, name string) {
	t.Helper()
	plugins, err := app.New()
	if err != nil {
		t.Fatal(err)
	}
	var help bytes.Buffer
	err = agent.NewAgent(agent.AllPlugins(plugins), agent.Args("--help"), agent.Environ(config.NoEnviron), agent.Output(&help)).Run()
	if err != nil || !strings.Contains(help.String(), "["+name+"]") {
		t.Errorf("%s is no variable of the agent: %v", name, err)
	}
}

func TestKubernetesProbes(t *testing.T) {
	t.Parallel()
	configMap, daemonSet := read(t)
	spec := daemonSet.Spec.Template.Spec
	c := spec.Containers[0]
	server, _, err := config.Load(config.Text("http", strings.ReplaceAll(configMap.Data["http.conf"], "${env:AGENTCTL_HTTP_BASIC_AUTH}", "admin:secret")), rest.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("0.0.0.0:%d", c.Ports[0].ContainerPort); server.Endpoint != want || !spec.HostNetwork {
		t.Errorf("the agent listens on %s, is asked at %s", server.Endpoint, want)
	}
	url, _ := simulated(t, write(t, configMap))
	for name, p := range map[string]probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if p.HTTPGet.Host != "127.0.0.1" || p.HTTPGet.Port != c.Ports[0].Name {
			t.Errorf("%s asks at %s:%s", name, p.HTTPGet.Host, p.HTTPGet.Port)
		}
		if p.TimeoutSeconds < 5 {
			t.Errorf("%s: timeoutSeconds is %d; an agent that applies a large configuration may take longer to answer", name, p.TimeoutSeconds)
		}
		resp, err := http.Get(url + p.HTTPGet.Path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		http.DefaultClient.CloseIdleConnections()
		if err != nil || !bytes.Contains(body, []byte(`"plugins"`)) || resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: %s answers %d: %.200s", name, p.HTTPGet.Path, resp.StatusCode, body)
		}
	}
}

// The service leads to the servers. Metrics need no credentials, all else does.
func TestKubernetesServers(t *testing.T) {
	t.Parallel()
	configMap, service, daemonSet := objects(t)
	pod := daemonSet.Spec.Template
	ports := map[string]int{}
	for _, p := range pod.Spec.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	for _, p := range service.Spec.Ports {
		if ports[p.TargetPort] != p.Port || p.Name != p.TargetPort {
			t.Errorf("port %s: %d leads to %d", p.Name, p.Port, ports[p.TargetPort])
		}
		delete(ports, p.TargetPort)
	}
	if len(ports) > 0 || !maps.Equal(service.Spec.Selector, pod.Metadata.Labels) || service.Spec.ClusterIP != "None" {
		t.Errorf("the service lacks the ports %v or selects %v", ports, service.Spec.Selector)
	}
	for _, conf := range []string{"http.conf", "grpc.conf"} {
		if port := map[string]string{"http.conf": "9191", "grpc.conf": "9111"}[conf]; !strings.Contains(configMap.Data[conf], "endpoint: 0.0.0.0:"+port+"\n") {
			t.Errorf("%s does not listen on port %s:\n%s", conf, port, configMap.Data[conf])
		}
	}
	if a := pod.Metadata.Annotations; a["prometheus.io/scrape"] != "true" || a["prometheus.io/port"] != "9191" || a["prometheus.io/path"] != "/metrics" {
		t.Errorf("annotations %v", a)
	}
	url, address := simulated(t, write(t, configMap))
	checkHTTPAccess(t, url)
	checkGRPCAccess(t, address.String())
}

func checkHTTPAccess(t *testing.T, url string) {
	t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	for _, tc := range []struct {
		path, user string
		want       int
	}{
		{"/metrics", "", 200}, {"/health", "", 200}, {"/liveness", "", 200}, {"/scheduler/dump", "", 401}, {"/scheduler/dump", "admin", 200},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.user != "" {
			req.SetBasicAuth(tc.user, "secret")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != tc.want {
			t.Errorf("%s as %q: %d, want %d", tc.path, tc.user, resp.StatusCode, tc.want)
		}
	}
}

func checkGRPCAccess(t *testing.T, address string) {
	t.Helper()
	conn, err := rpc.NewClient(address, rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := generic.NewMetaServiceClient(conn)
	for token, want := range map[string]codes.Code{"": codes.Unauthenticated, "wrong": codes.Unauthenticated, "secret": codes.OK} {
		ctx := t.Context()
		if token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
		}
		if _, err := client.KnownModels(ctx, &generic.KnownModelsRequest{}); status.Code(err) != want {
			t.Errorf("token %q: %v, want %v", token, err, want)
		}
	}
}

// simulated runs the agent with the configuration, but for what would be in the way
// of others on this machine: ports, sockets, the kernel and VPP.
func simulated(t *testing.T, dir string) (url string, grpc net.Addr) {
	t.Helper()
	plugins, err := app.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"filedb.conf":         "configuration-paths: [" + dir + "/network.yaml]\n",
		"linux-nsplugin.conf": "disabled: true\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"http.conf", "grpc.conf"} { // no address except the address of the test
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), bytes.ReplaceAll(text, []byte("0.0.0.0:"), []byte("127.0.0.1:")), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	a := agenttest.New(t, agent.AllPlugins(plugins), agent.Environ(environ), agent.Args("--config-dir", dir, "--state-dir", t.TempDir(),
		"--http-port", "0", "--grpc-port", "0", "--grpc-socket", filepath.Join(dir, "grpc.sock"), "--simulate"))
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return plugins.HTTP.URL(), plugins.GRPC.Addr()
}

func TestKubernetesVolumes(t *testing.T) {
	t.Parallel()
	_, daemonSet := read(t)
	spec := daemonSet.Spec.Template.Spec
	mounted := map[string]string{}
	for _, m := range spec.Containers[0].Mounts {
		mounted[m.Name] = m.MountPath
	}
	for _, v := range spec.Volumes {
		if mounted[v.Name] == "" {
			t.Errorf("volume %s is not mounted", v.Name)
		}
		if v.ConfigMap != nil && (v.ConfigMap.Name != "vpp-agent" || mounted[v.Name] != configDir) {
			t.Errorf("volume %s: ConfigMap %s at %s", v.Name, v.ConfigMap.Name, mounted[v.Name])
		}
		delete(mounted, v.Name)
	}
	if len(mounted) > 0 {
		t.Errorf("mounted without a volume: %v", mounted)
	}
	for name, value := range daemonSet.Spec.Selector.MatchLabels {
		if daemonSet.Spec.Template.Metadata.Labels[name] != value {
			t.Errorf("label %s does not select the pods", name)
		}
	}
}

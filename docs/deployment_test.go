package docs

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/cli"
	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// TestRemoteAccess follows the recipe for remote access in deployment.md, with this machine as the
// other one.
func TestRemoteAccess(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("NOT CHECKED THAT THE RECIPE FOR REMOTE ACCESS WORKS: needs the command openssl")
	}
	page, err := os.ReadFile("deployment.md")
	infratest.Fatal(t, err)
	_, recipe, _ := strings.Cut(string(page), "## Remote access")
	recipe, _, _ = strings.Cut(recipe, "\n## ")
	dir := t.TempDir()
	local := strings.NewReplacer("/etc/vpp-agent/", dir+"/", "IP:192.0.2.7", "IP:127.0.0.1", "0.0.0.0:9191", "127.0.0.1:0", "0.0.0.0:9111", "127.0.0.1:0",
		"$PWD/edge-1.crt", dir+"/server.crt", "edge-1.crt", dir+"/server.crt")
	boxes := regexp.MustCompile("(?s)```(sh|yaml|console)\n(.*?)```").FindAllStringSubmatch(local.Replace(recipe), -1)
	if len(boxes) != 4 {
		t.Fatalf("the recipe has %d boxes, expected openssl, http.conf, grpc.conf and agentctl", len(boxes))
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", boxes[0][2]).CombinedOutput()
	if err != nil {
		t.Fatalf("openssl: %v: %s", err, out)
	}
	infratest.Fatal(t, os.WriteFile(filepath.Join(dir, "http.conf"), []byte(boxes[1][2]), 0o600))
	infratest.Fatal(t, os.WriteFile(filepath.Join(dir, "grpc.conf"), []byte(boxes[2][2]), 0o600))
	plugins, err := app.New()
	infratest.Fatal(t, err)
	a := agenttest.New(t, agent.AllPlugins(plugins), agent.Args("--config-dir", dir, "--simulate"))
	infratest.Fatal(t, a.Start(t.Context()))
	_, port, err := net.SplitHostPort(plugins.HTTP.Addr().String())
	infratest.Fatal(t, err)
	agentctl := func(line string) (code int, text string) {
		var out bytes.Buffer
		args := strings.Fields(strings.ReplaceAll(line, "edge-1:9191", "127.0.0.1:"+port))
		code = cli.Run(t.Context(), append(args, "--config-dir", filepath.Join(dir, "agentctl")), cli.Streams{Out: &out, Err: &out}, config.NoEnviron)
		return code, out.String()
	}
	for line := range strings.Lines(boxes[3][2]) {
		command := strings.TrimPrefix(line, "$ agentctl ")
		if code, text := agentctl(command); code != 0 {
			t.Errorf("agentctl %s: exit code %d: %s", command, code, text)
		}
	}
	if code, text := agentctl("-H https://edge-1:9191 --tls-ca-file " + dir + "/server.crt values"); code != 1 || !strings.Contains(text, "--http-basic-auth") {
		t.Errorf("without a user: exit code %d: %s", code, text)
	}
}

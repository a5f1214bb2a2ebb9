package app_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
)

// formerFiles are configuration files as users of the predecessor have them.
func formerFiles() map[string]string {
	return map[string]string{
		"http.conf": `
endpoint: 0.0.0.0:9191
enable-token-auth: true
token-expiration: 600000000000
password-hash-cost: 7
token-signature: secret
users:
  - name: user1
    password_hash: $2a$10$q5s1LP7xbCJWJlLet1g/h.rGrsHtciILps90bNRdJ.6DRekw9b.zK
    permissions: [all]
`,
		"logs.conf": `
default-level: info
loggers:
  - {name: agentcore, level: debug}
  - {name: linux-plugin, level: warning}
hooks:
  syslog:
    levels: [panic, fatal, error, warn]
`,
		"vpp-ifplugin.conf":         "mtu: 1500\nstopwatch: true\nstrategy: full\nstatus-publishers: [etcd, redis]\n",
		"linux-ifplugin.conf":       "disabled: false\ngo-routines-count: 10\n",
		"linux-iptablesplugin.conf": "disabled: false\nmin-rule-count-for-performance-handling: 100\n",
		"etcd.conf":                 "insecure-transport: true\ndial-timeout: 1000000000\nendpoints: [\"172.17.0.1:2379\"]\n",
		"grpc.conf":                 "endpoint: 0.0.0.0:9111\nnetwork: tcp\nmax-msg-size: 4096\npermission: 000\nforce-socket-removal: true\n",
		"kafka.conf":                "addrs: [127.0.0.1:9092]\n",
	}
}

// The configuration files of the predecessor are understood.
func TestFormerConfigurationFiles(t *testing.T) {
	t.Parallel()
	plugins, err := app.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range formerFiles() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	a := agenttest.New(t, agent.AllPlugins(plugins), agent.Output(&out), agent.Args("--config-dir", dir, "config", "validate"))
	if err := a.Run(); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

// Flags of plugins that the agent does not have are accepted, or the error says what
// to write instead.
func TestFormerFlags(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"--vpp-natplugin-config=x": "",
		"--kafka-config=x":         "",
		"--vpp-l2plugin-config=x":  "",
		"--cassandra-config=x":     "--etcd-config=etcd.conf",
	} {
		plugins, err := app.New()
		if err != nil {
			t.Fatal(err)
		}
		a := agenttest.New(t, agent.AllPlugins(plugins), agent.Args("--config-dir", t.TempDir(), "--simulate",
			"--http-port", "0", "--grpc-port", "0", flag))
		switch err := a.Start(t.Context()); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", flag, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, expected %q", flag, err, want)
		}
	}
}

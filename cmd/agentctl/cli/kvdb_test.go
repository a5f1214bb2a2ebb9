package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

func TestKVDB(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	env := map[string]string{"ETCD_ENDPOINTS": "127.0.0.1:1, " + server.Direct}
	const loop1 = "/vnf-agent/vpp1/config/vpp/v2/interfaces/loop1"
	for _, step := range []struct {
		args string
		code int
		out  string
		err  string
	}{
		{"kvdb list", 0, "", ""},
		{"kvdb put config/vpp/v2/interfaces/loop1 {}", 1, "", "agents would reject the value of " + loop1 + ": the item has the key config/vpp/v2/interfaces/; --force stores it"},
		{`kvdb put config/vpp/v2/interfaces/loop1 {"name":"loop1","mtuu":1}`, 1, "", "mtuu: unknown field of Interface; did you mean mtu?; --force"},
		{`kvdb put config/vpp/v2/interfaces/loop1 {`, 1, "", ": malformed JSON"},
		{`kvdb put config/vpp/v2/interface/loop1 {}`, 1, "", "no model has such a key; did you mean config/vpp/v2/interfaces/...?"},
		{`put config/vpp/v2/interfaces/loop2 {"name":"loop1"}`, 1, "", "the item has the key config/vpp/v2/interfaces/loop1"},
		{"kvdb put config/vpp/v2/interfaces/loop1 {} --force", 0, "OK\n", ""},
		{"kv p /elsewhere/x 1", 0, "OK\n", ""},
		{"--service-label vpp10 put x 2", 0, "OK\n", ""},
		{"kvdb get config/vpp/v2/interfaces/loop1", 0, "{}\n", ""},
		{"kvdb list", 0, loop1 + "\n{}\n", ""},
		{"kvdb ls / --keys-only", 0, "/elsewhere/x\n" + loop1 + "\n/vnf-agent/vpp10/x\n", ""},
		{"kvdb list config/ -f {{range.}}{{.Value}}{{.Revision}}{{end}}", 0, "{}2\n", ""},
		{"kvdb del config/vpp/v2/interfaces/loop1", 0, "deleted\n", ""},
		{"kvdb del config/vpp/v2/interfaces/loop1", 0, "key did not exist; the store has no keys of agent vpp1, did you mean --service-label vpp10?\n", ""},
		{"kvdb get config/vpp/v2/interfaces/loop1", 1, "", loop1 + ": no such key"},
		{"kvdb put x", 125, "", "expected 'agentctl kvdb put KEY VALUE', got 1 argument"},
		{"-e 127.0.0.1:1 --timeout 5s kvdb get x", 1, "", "store at 127.0.0.1:1"},
		{"-e [ kvdb get x", 1, "", "["},
	} {
		r := run(t, env, strings.Fields(step.args)...)
		if r.code != step.code || r.out != step.out || !strings.Contains(r.err, step.err) {
			t.Errorf("%s: exit %d, out %q, err %q; want %d, %q, %q", step.args, r.code, r.out, r.err, step.code, step.out, step.err)
		}
	}
}

// Secrets in the store are printed only where that is asked for; what cannot be
// read may be one.
func TestKVDBSecrets(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	env := map[string]string{"ETCD_ENDPOINTS": server.Direct}
	const prefix = "/vnf-agent/vpp1/config/vpp/v2/interfaces/"
	const memif = `{"name":"m","type":"MEMIF","memif":{"secret":"geheim"}}`
	for key, value := range map[string]string{
		prefix + "m": memif, prefix + "bad": `{"memif":{"secret":"geheim",`, prefix + "sealed": "$crypto$abc", prefix + "plain": `{"name":"plain", "mtu":9000}`,
		"/vnf-agent/vpp2/anything": `{"some":"thing"}`, "/elsewhere": "x",
	} {
		if r := run(t, env, "kvdb", "put", "--force", key, value); r.code != 0 {
			t.Fatal(r.err)
		}
	}
	const hidden = `{"name":"m","type":"MEMIF","memif":{"secret":"***"}}`
	want := "/elsewhere\nx\n" + prefix + "bad\n***\n" + prefix + "m\n" + hidden + "\n" + prefix + "plain\n" + `{"name":"plain", "mtu":9000}` + "\n" +
		prefix + "sealed\n$crypto$abc\n/vnf-agent/vpp2/anything\n" + `{"some":"thing"}` + "\n"
	if r := run(t, env, "kvdb", "list", "/"); r.out != want || !strings.Contains(r.err, prefix+"bad: not shown") || strings.Contains(r.err, "geheim") {
		t.Errorf("list: err %q, got\n%s\nwant\n%s", r.err, r.out, want)
	}
	for command, want := range map[string]string{
		"kvdb get config/vpp/v2/interfaces/m":                  hidden + "\n",
		"kvdb list config/vpp/v2/interfaces/m -f {{.}}":        hidden,
		"kvdb get config/vpp/v2/interfaces/m --show-secrets":   memif + "\n",
		"kvdb get config/vpp/v2/interfaces/bad --show-secrets": `{"memif":{"secret":"geheim",` + "\n",
	} {
		if r := run(t, env, strings.Fields(command)...); r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("%s: exit %d, got %q, want %q", command, r.code, r.out, want)
		}
	}
	if r := run(t, env, "kvdb", "list", "config/", "--keys-only"); r.err != "" {
		t.Errorf("keys only: %s", r.err)
	}
}

func TestKVDBOverTLS(t *testing.T) {
	t.Parallel()
	certs := kvtest.NewCerts(t)
	server := kvtest.Etcd(t, "--cert-file="+certs.Cert, "--key-file="+certs.Key, "--client-cert-auth", "--trusted-ca-file="+certs.CA)
	dir := t.TempDir()
	text := "service-label: me\netcd-endpoints: ['" + server.Direct + "']\netcd-dial-timeout: 2m\nkvdb-tls:\n  ca-file: " + certs.CA
	for _, client := range []string{"", "\n  cert-file: " + certs.Cert + "\n  key-file: " + certs.Key} {
		if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text+client+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := run(t, nil, "--config-dir", dir, "kvdb", "put", "x", "1")
		if good := client != ""; good != (r.code == 0) {
			t.Errorf("with client certificate %v: exit %d, %s", good, r.code, r.err)
		}
	}
	if r := run(t, nil, "--config-dir", dir, "kvdb", "list"); r.out != "/vnf-agent/me/x\n1\n" {
		t.Errorf("list %q, %s", r.out, r.err)
	}
}

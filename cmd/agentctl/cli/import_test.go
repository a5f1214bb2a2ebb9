package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rpc "google.golang.org/grpc"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
)

const importFile = `# two interfaces
config/vpp/v2/interfaces/loop1 {"name": "loop1", "type": "SOFTWARE_LOOPBACK"}

	/vnf-agent/vpp1/config/vpp/v2/interfaces/loop2	{"name":"loop2"}
config/vpp/l2/v2/bridge-domain/bd1 {"name": "bd1"}
`

// fakeManager is an agent that knows all models and records its requests.
type fakeManager struct {
	generic.UnimplementedManagerServiceServer
	generic.UnimplementedMetaServiceServer
	requests [][]string
}

func (f *fakeManager) KnownModels(context.Context, *generic.KnownModelsRequest) (*generic.KnownModelsResponse, error) {
	set, err := allmodels.Set()
	if err != nil {
		return nil, err
	}
	resp := &generic.KnownModelsResponse{}
	for _, m := range set.All() {
		s := m.Spec()
		resp.KnownModels = append(resp.KnownModels, &generic.ModelDetail{
			Spec:      &generic.ModelSpec{Class: s.Class, Module: s.Module, Type: s.Type, Version: s.Version},
			ProtoName: string(m.ProtoName()),
		})
	}
	return resp, nil
}

func (f *fakeManager) SetConfig(_ context.Context, req *generic.SetConfigRequest) (*generic.SetConfigResponse, error) {
	resp := &generic.SetConfigResponse{}
	var names []string
	for _, u := range req.GetUpdates() {
		id := u.GetItem().GetId()
		names = append(names, id.GetModel()+" "+id.GetName())
		st := &generic.ItemStatus{Status: "CONFIGURED"}
		if id.GetName() == "bd1" {
			st = &generic.ItemStatus{Status: "FAILED", Message: "no room"}
		}
		resp.Results = append(resp.Results, &generic.UpdateResult{Id: id, Key: id.GetName(), Status: st})
	}
	f.requests = append(f.requests, names)
	return resp, nil
}

func TestImportIntoAgent(t *testing.T) {
	t.Parallel()
	f := &fakeManager{}
	server := rpc.NewServer()
	generic.RegisterManagerServiceServer(server, f)
	generic.RegisterMetaServiceServer(server, f)
	port := serveGRPC(t, server, "tcp", "127.0.0.1:0")
	file := filepath.Join(t.TempDir(), "items.txt")
	lines := strings.SplitAfter(importFile, "\n")
	infratest.Fatal(t, os.WriteFile(file, []byte(strings.Join(lines[:4], "")), 0o600))
	r := run(t, nil, "--grpc-port", port, "import", "--grpc", "-t", "5m", "--txops", "1", file)
	if r.code != 0 || r.out != "imported 2 items\n" || len(f.requests) != 2 || f.requests[1][0] != "vpp.interfaces loop2" {
		t.Errorf("exit %d, %s%s, requests %q", r.code, r.out, r.err, f.requests)
	}
	infratest.Fatal(t, os.WriteFile(file, []byte(importFile), 0o600))
	r = run(t, nil, "--grpc-port", port, "import", "--grpc", "-t", "5m", file)
	if r.code != 1 || !strings.Contains(r.err, "bd1: no room") || !strings.Contains(r.err, "1 of 3 items failed") {
		t.Errorf("an item that fails: exit %d, %s%s", r.code, r.out, r.err)
	}
	r = run(t, nil, "--grpc-port", port, "import", "--grpc", "-t", "5m", "--txops", "2", file)
	if r.code != 1 || !strings.Contains(r.err, "after 2 of 3 items: 1 of 1 items failed") {
		t.Errorf("an item of the second transaction that fails: exit %d, %s%s", r.code, r.out, r.err)
	}
}

func TestImportIntoStore(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	env := map[string]string{"ETCD_ENDPOINTS": server.Direct}
	file := filepath.Join(t.TempDir(), "items.txt")
	infratest.Fatal(t, os.WriteFile(file, []byte(importFile), 0o600))
	for _, step := range []struct {
		args string
		code int
		out  string
		err  string
	}{
		{"import -t 5m --txops 2 " + file, 0, "imported 3 items\n", ""},
		{"kvdb ls --keys-only", 0, "/vnf-agent/vpp1/config/vpp/l2/v2/bridge-domain/bd1\n/vnf-agent/vpp1/config/vpp/v2/interfaces/loop1\n/vnf-agent/vpp1/config/vpp/v2/interfaces/loop2\n", ""},
		{"kvdb get config/vpp/v2/interfaces/loop1", 0, "{\"name\":\"loop1\",\"type\":\"SOFTWARE_LOOPBACK\"}\n", ""},
		{"--service-label vpp2 import " + file, 1, "", "items.txt:4: /vnf-agent/vpp1/config/vpp/v2/interfaces/loop2: expected a key of the agent, below /vnf-agent/vpp2/"},
		{"-e 127.0.0.1:1 import -t 3s " + file, 1, "", "store at 127.0.0.1:1"},
	} {
		r := run(t, env, strings.Fields(step.args)...)
		if r.code != step.code || r.out != step.out || !strings.Contains(r.err, step.err) {
			t.Errorf("%s: exit %d, out %q, err %q; want %d, %q, %q", step.args, r.code, r.out, r.err, step.code, step.out, step.err)
		}
	}
}

func TestImportOfWhatIsWrong(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x")
	for text, want := range map[string]string{
		"":                              "there is nothing to import",
		"# only this":                   "there is nothing to import",
		"config/vpp/v2/interfaces/a":    "x:1: expected a key, a blank and an item in JSON",
		"\nsomething {}":                "x:2: something: no model has such a key",
		"config/vpp/v2/interfaces/a {":  "x:1: config/vpp/v2/interfaces/a: ",
		"config/vpp/v2/interfaces/a {}": "x:1: config/vpp/v2/interfaces/a: the item has the key config/vpp/v2/interfaces/",
		"a b\n" + `config/vpp/v2/interfaces/a {"name":"b"}`:                                          "x is refused: 2 mistakes",
		`config/vpp/v2/interfaces/a {"mtuu":1}`:                                                      "config/vpp/v2/interfaces/a: mtuu: unknown field of Interface; did you mean mtu?",
		`config/vpp/v1/interfaces/a {}`:                                                              "no model has such a key; did you mean config/vpp/v2/interfaces/...?",
		strings.Repeat(`config/vpp/v2/interfaces/a {"name":"a","type":"SOFTWARE_LOOPBACK"}`+"\n", 2): "x:2: config/vpp/v2/interfaces/a: second value for this key, the first is in line 1",
	} {
		infratest.Fatal(t, os.WriteFile(file, []byte(text), 0o600))
		run(t, nil, "-e", "127.0.0.1:1", "import", file).wants(t, 1, want)
	}
	for args, want := range map[string]string{
		"--txops 0": "--txops: 0: expected 1 or more", "-t 0s": "--time: 0s", "--grpc -t -1s": "--time: -1s",
	} {
		run(t, nil, append(append([]string{"import"}, strings.Fields(args)...), file)...).wants(t, exit.CodeUsage, want)
	}
}

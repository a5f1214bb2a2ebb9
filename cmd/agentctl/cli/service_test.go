package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
)

// callService runs "service call" with a request.
func callService(t *testing.T, port, request string, line ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	root := newRoot(cmdutil.NewFactory(Streams{Out: &out, Err: &errs}, config.NoEnviron, time.Now, output.Terminal{}))
	root.SetArgs(append([]string{"--grpc-port", port, "--grpc-token", "secret", "service", "call"}, line...))
	root.SetIn(strings.NewReader(request))
	root.SetOut(&out)
	root.SetErr(&errs)
	code := 0
	if err := root.ExecuteContext(t.Context()); err != nil {
		code = exit.CodeError
		errs.WriteString(err.Error())
	}
	return result{strings.Join(line, " "), out.String(), errs.String(), code}
}

// Services that agentctl does not know are called as the server describes them.
func TestServiceCall(t *testing.T) {
	t.Parallel()
	f := &fakeGRPC{}
	server := rpc.NewServer()
	configurator.RegisterConfiguratorServiceServer(server, f)
	reflection.Register(server)
	port := serveGRPC(t, server, "tcp", "127.0.0.1:0")
	const service = "ligato.configurator.ConfiguratorService"
	for _, test := range []struct {
		request, line string
		code          int
		out, err      string
	}{
		{"", service + " Dump", 0, "dump:\n  vppConfig:\n    interfaces:\n      - name: loop1\n        type: SOFTWARE_LOOPBACK\n", ""},
		{"delete: {vppConfig: {interfaces: [{name: loop1}]}}\n", service + " Delete -f json", 0, "{}\n", ""},
		{`{"delete": {"vppConfig": {"interfaces": [{"name": "stuck"}]}}}`, service + " Delete", 1, "", "1 values failed; stuck: in use"},
		{"idx: 0\n", service + " Notify", 1, "nextIdx: 1\n", "the agent stops"},
		{"delete: {vppConfg: {}}", service + " Delete", 1, "", "the request, a ligato.configurator.DeleteRequest: "},
		{"{", service + " Delete", 1, "", "the request: yaml: "},
	} {
		r := callService(t, port, test.request, strings.Fields(test.line)...)
		if r.code != test.code || !strings.Contains(r.out, test.out) || !strings.Contains(r.err, test.err) {
			t.Errorf("%s <%q: exit %d\n%s%s\nwant %d\n%s%s", test.line, test.request, r.code, r.out, r.err, test.code, test.out, test.err)
		}
	}
	if got := f.deleted.GetDelete().GetVppConfig().GetInterfaces()[0].GetName(); got != "stuck" {
		t.Errorf("the request was for %q", got)
	}
	silent := serveGRPC(t, rpc.NewServer(), "tcp", "127.0.0.1:0")
	callService(t, silent, "", service, "Dump").wants(t, exit.CodeError, "the server does not support reflection (reflection in grpc.conf)")
}

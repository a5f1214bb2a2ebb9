package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// secured is an etcd that checks certificates.
type secured struct {
	t      *testing.T
	certs  kvtest.Certs
	server *kvtest.Process
}

// tls returns the keys of a configuration file for a user.
func (s *secured) tls(user string) string {
	c := s.certs.For(s.t, user)
	return fmt.Sprintf("  ca-file: %s\n  cert-file: %s\n  key-file: %s\n", c.CA, c.Cert, c.Key)
}

// as returns a function that runs agentctl as a user.
func (s *secured) as(user string) func(line string) result {
	config := write(s.t, "config.yaml", "etcd-endpoints: ['"+s.server.Direct+"']\netcd-dial-timeout: 1m\nkvdb-tls:\n"+s.tls(user))
	return func(line string) result {
		return run(s.t, nil, append([]string{"--config", config}, words(line)...)...)
	}
}

// db connects as a user.
func (s *secured) db(user string) kv.DB {
	c, cfg := s.certs.For(s.t, user), etcd.DefaultConfig()
	cfg.Endpoints, cfg.CertFile, cfg.KeyFile, cfg.CAFile, cfg.OperationTimeout = []string{s.server.Direct}, c.Cert, c.Key, c.CA, time.Minute
	db, closeDB, err := etcd.Open(cfg)
	infratest.Fatal(s.t, err)
	s.t.Cleanup(func() { _ = closeDB() })
	return db
}

// With the authentication of etcd an agent takes part in rollouts, and may not write or read what is not its own.
func TestFleetRoles(t *testing.T) {
	t.Parallel()
	s := &secured{t: t, certs: kvtest.NewCerts(t)}
	s.server = kvtest.Etcd(t, "--cert-file="+s.certs.Cert, "--key-file="+s.certs.Key, "--client-cert-auth", "--trusted-ca-file="+s.certs.CA)
	root, ops := s.as("root"), s.as("ops")
	for _, line := range []string{"fleet init --etcd-roles edge-1 edge-2 --operator ops", "fleet init --etcd-roles edge-1 --operator ops"} {
		if r := root(line); r.code != 0 || !strings.Contains(r.out, "the authentication of etcd is off") {
			t.Fatalf("%s: exit %d: %s%s", line, r.code, r.out, r.err)
		}
	}
	rootCert := s.certs.For(t, "root")
	for _, args := range [][]string{{"user", "add", "root:secret"}, {"user", "grant-role", "root", "root"}, {"auth", "enable"}} {
		kvtest.Etcdctl(t, append([]string{"--endpoints", "https://" + s.server.Direct, "--cert", rootCert.Cert, "--key", rootCert.Key, "--cacert", rootCert.CA}, args...)...)
	}
	if r := root("fleet init --etcd-roles edge-1 edge-2 edge-3"); r.code != 0 || strings.Contains(r.out, "is off") {
		t.Errorf("with authentication: exit %d: %s%s", r.code, r.out, r.err)
	}
	for _, label := range []string{"edge-1", "edge-2"} {
		c := s.certs.For(t, label)
		startAgentConfigured(t, label, map[string]string{
			"etcd.conf":        fmt.Sprintf("endpoints: ['%s']\ndial-timeout: 1m\noperation-timeout: 1m\nca-file: %s\ncert-file: %s\nkey-file: %s\n", s.server.Direct, c.CA, c.Cert, c.Key),
			"kvscheduler.conf": "state-dir: " + t.TempDir() + "\n", "fleet.conf": "fleet: default\n",
		})
	}
	for n := 0; n != 2; {
		n = strings.Count(ops("fleet agents").out, "edge-")
		infratest.Fatal(t, t.Context().Err())
	}
	if r := ops("fleet apply -y --waves 1 -f " + write(t, "net.yaml", strings.ReplaceAll(fleetAgents, "MTU", "1500"))); r.code != 0 {
		t.Fatalf("apply: exit %d: %s%s", r.code, r.out, r.err)
	}
	for r := ops("fleet status"); r.code != 0; r = ops("fleet status") { // until the agents have written it
		infratest.Fatal(t, t.Context().Err())
	}
	s.denied(t)
}

// denied checks what an agent may do.
func (s *secured) denied(t *testing.T) {
	db := s.db("edge-1")
	as, ctx := store.New(db, "default"), t.Context()
	raw := func(key string, value any) error {
		text, err := json.Marshal(value)
		infratest.Fatal(t, err)
		return db.Put(ctx, store.Root+"default/"+key, text)
	}
	for what, c := range map[string]struct {
		do func(context.Context) error
		ok bool
	}{
		"its report":            {func(ctx context.Context) error { return as.WriteReport(ctx, "edge-1", rollout.Report{Rollout: "r-1"}) }, true},
		"its status":            {func(ctx context.Context) error { return as.WriteStatus(ctx, "edge-1", store.Status{}) }, true},
		"read itself":           {func(ctx context.Context) error { _, err := as.Agent(ctx, "edge-1"); return err }, true},
		"read a revision":       {func(ctx context.Context) error { _, err := as.Revision(ctx, 1); return err }, true},
		"read a decision":       {func(ctx context.Context) error { _, err := as.Decision(ctx, "r-1", 0); return err }, true},
		"its assignment":        {func(context.Context) error { return raw("agent/edge-1/assignment", rollout.Assignment{Revision: 9}) }, false},
		"its spec":              {func(context.Context) error { return raw("agent/edge-1/spec", "") }, false},
		"the report of another": {func(ctx context.Context) error { return as.WriteReport(ctx, "edge-2", rollout.Report{}) }, false},
		"read another":          {func(ctx context.Context) error { _, err := as.Agent(ctx, "edge-2"); return err }, false},
		"read all agents":       {func(ctx context.Context) error { _, err := as.Agents(ctx); return err }, false},
		"a decision": {func(ctx context.Context) error {
			_, err := as.Decide(ctx, "r-1", 7, rollout.WaveDecision{Decision: rollout.Commit})
			return err
		}, false},
		"a revision":           {func(ctx context.Context) error { _, err := as.CreateRevision(ctx, store.Revision{}); return err }, false},
		"a rollout":            {func(ctx context.Context) error { return as.CreateRollout(ctx, rollout.Rollout{}) }, false},
		"the epoch":            {func(ctx context.Context) error { return as.NewEpoch(ctx) }, false},
		"a configuration":      {func(context.Context) error { return raw("chunk/x", "") }, false},
		"keys of another":      {func(ctx context.Context) error { return db.Put(ctx, "/vnf-agent/edge-2/config/x", nil) }, false},
		"an agent of its name": {func(context.Context) error { return raw("agent/edge-11/report", "") }, false},
	} {
		err := c.do(ctx)
		if denied := err != nil && strings.Contains(err.Error(), "permission denied"); c.ok && err != nil || !c.ok && !denied {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The commands of etcdctl that init prints, and its mistakes.
func TestFleetRolesDryRun(t *testing.T) {
	t.Parallel()
	w := writtenFleet(t)
	w.agent("edge-1", nil, nil)
	w.flush()
	var b strings.Builder
	for _, line := range []string{
		"fleet init --etcd-roles --dry-run --operator ops", "fleet init --etcd-roles edge/1", "fleet init", "fleet init --etcd-roles --fleet other",
	} {
		r := run(t, w.env, words(line)...)
		fmt.Fprintf(&b, "$ agentctl %s\n%s%s[exit %d]\n\n", line, r.out, r.err, r.code)
	}
	golden(t, filepath.Join("testdata", "fleet", "roles.txt"), b.String())
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/fleettest"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

var programs = infratest.Shared("tenuto-controller")

func TestMain(m *testing.M) { os.Exit(programs.Run(m)) }

// process is a tenuto-controller that runs.
type process struct {
	*exec.Cmd

	dir string // of its configuration
}

func launch(t *testing.T, addr, http string) *process {
	t.Helper()
	p := &process{dir: t.TempDir()}
	for name, text := range map[string]string{
		"etcd.conf": "endpoints: ['" + addr + "']\n", "controller.conf": "fleet: test\n", "http.conf": "endpoint: ''\nsocket: " + http + "\n",
	} {
		infratest.Fatal(t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600))
	}
	p.Cmd = exec.Command(filepath.Join(programs.Dir(t), "tenuto-controller"), "--config-dir", p.dir)
	var out bytes.Buffer
	p.Stdout, p.Stderr = &out, &out
	infratest.Fatal(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	})
	return p
}

// Two controllers execute the rollouts of a fleet. The one that executes a rollout is killed at any time, and another one is
// started: the other one takes over, and all rollouts end as they should.
func TestControllersAreKilled(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	cfg := etcd.DefaultConfig()
	cfg.Endpoints = []string{server.Addr}
	db, closeDB, err := etcd.Open(cfg)
	infratest.Fatal(t, err)
	t.Cleanup(func() { _ = closeDB() })
	s := store.New(db, "test")
	labels := []string{"a", "b", "c"}
	for _, label := range labels {
		_, stop := fleettest.Start(t, server.Addr, "test", label)
		t.Cleanup(stop)
	}
	running := map[int]*process{}
	begin := func() {
		p := launch(t, server.Addr, filepath.Join(t.TempDir(), "http.sock"))
		running[p.Process.Pid] = p
	}
	begin()
	begin()
	tick := time.NewTicker(5 * time.Millisecond) // a phase is short
	defer tick.Stop()
	for round, phase := range []rollout.Phase{rollout.PhasePlanning, rollout.PhaseApplying} {
		name := fmt.Sprintf("r%d", round)
		revision := fleettest.Revise(t, s, []store.Item{{Key: "config/a", Value: []byte(fmt.Sprintf(`{"n":%d}`, round))}}, labels...)
		infratest.Fatal(t, s.CreateRollout(t.Context(), rollout.Rollout{Metadata: fleet.Metadata{Name: name}, Spec: rollout.Spec{
			Revision: revision, Waves: [][]string{{"a"}, {"b", "c"}}, ConfirmTimeout: time.Minute, Soak: 2 * time.Second, Deadline: time.Minute,
		}}))
		killed := false
		for status := (rollout.Status{}); !status.Phase.Ended(); <-tick.C {
			all, err := s.Rollouts(t.Context())
			infratest.Fatal(t, err)
			leader, leads, err := s.Leader(t.Context(), name)
			infratest.Fatal(t, err)
			status = all[name].Rollout.Status
			if leads && !killed && status.Phase == phase {
				killed = true
				infratest.Fatal(t, running[leader.PID].Process.Kill())
				begin()
			}
		}
		all, err := s.Rollouts(t.Context())
		infratest.Fatal(t, err)
		agents, err := s.Agents(t.Context())
		infratest.Fatal(t, err)
		if got := all[name].Rollout.Status; got.Phase != rollout.PhaseSucceeded {
			t.Errorf("%s: %+v", name, got)
		}
		for _, label := range labels {
			if r := agents[label].Report; r.Confirmed != revision {
				t.Errorf("%s: %s reports %+v", name, label, r)
			}
		}
		if !killed && phase == rollout.PhaseApplying {
			t.Errorf("%s: no controller was killed", name)
		}
	}
}

// The controller has the endpoints of an agent, and says what it misses.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	socket := filepath.Join(t.TempDir(), "http.sock")
	p := launch(t, server.Addr, socket)
	client := http.Client{Transport: &http.Transport{DialContext: dial(socket)}}
	defer client.CloseIdleConnections()
	get := func(path string) (code int, text string) {
		resp, err := client.Get("http://controller" + path)
		if err != nil {
			return 0, err.Error()
		}
		body, err := io.ReadAll(resp.Body)
		infratest.Fatal(t, err)
		infratest.Fatal(t, resp.Body.Close())
		return resp.StatusCode, string(body)
	}
	for code := 0; code != http.StatusOK; code, _ = get("/readiness") { // until it is ready
		infratest.Fatal(t, t.Context().Err())
	}
	if _, text := get("/metrics"); !strings.Contains(text, `ligato_fleet_controller_rollouts{fleet="test",role="executes"} 0`) {
		t.Errorf("metrics:\n%s", text)
	}
	infratest.Fatal(t, p.Process.Signal(syscall.SIGTERM))
	if err := p.Wait(); err != nil {
		t.Errorf("end: %v", err)
	}

	infratest.Fatal(t, os.Remove(filepath.Join(p.dir, "etcd.conf")))
	out, err := exec.Command(p.Path, "--config-dir", p.dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a controller of a fleet needs etcd: write etcd.conf") {
		t.Errorf("without etcd.conf: %v\n%s", err, out)
	}
}

func dial(socket string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
}

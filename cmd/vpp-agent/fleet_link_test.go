package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netns"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/controller"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// chain is a host with etcd, two real VPPs, and a namespace, in a row. The agent of the second VPP reaches etcd from
// the namespace, by way of both VPPs:
//
//	host 10.99.1.1 - 10.99.1.254 VPP 1 10.99.2.1 - 10.99.2.2 VPP 2 10.99.3.254 - 10.99.3.2 namespace
type chain struct {
	t     *testing.T
	space string
	links [3][2]string // the ends of the links between neighbours
}

func newChain(t *testing.T) *chain {
	t.Helper()
	needNamespaces(t)
	if _, err := exec.LookPath("ethtool"); err != nil {
		t.Skip("NOT CHECKED: there is no ethtool here (Debian: apt install ethtool); VPP forwards packets with the wrong checksums of virtual links")
	}
	c := &chain{t: t, space: fmt.Sprintf("chain%d", os.Getpid())}
	c.run("ip", "netns", "add", c.space)
	t.Cleanup(func() { c.run("ip", "netns", "del", c.space) })
	for i := range c.links {
		for end := range c.links[i] {
			c.links[i][end] = fmt.Sprintf("ch%d%d-%d", i, end, os.Getpid())
		}
		left, right := c.links[i][0], c.links[i][1]
		c.run("ip", "link", "add", left, "type", "veth", "peer", "name", right)
		t.Cleanup(func() { _ = exec.Command("ip", "link", "del", left).Run() })
		for _, link := range c.links[i] {
			c.run("ethtool", "-K", link, "tx", "off")
			c.run("ip", "link", "set", link, "up")
		}
	}
	first, last := c.links[0][0], c.links[2][1]
	c.run("ip", "address", "add", "10.99.1.1/24", "dev", first)
	c.run("ip", "route", "add", "10.99.3.0/24", "via", "10.99.1.254")
	c.run("ip", "link", "set", last, "netns", c.space)
	c.inside("ip", "link", "set", "lo", "up")
	c.inside("ip", "link", "set", last, "up")
	c.inside("ip", "address", "add", "10.99.3.2/24", "dev", last)
	c.inside("ip", "route", "add", "default", "via", "10.99.3.254")
	return c
}

func (c *chain) run(name string, args ...string) {
	c.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		c.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func (c *chain) inside(args ...string) {
	c.t.Helper()
	c.run("ip", append([]string{"netns", "exec", c.space}, args...)...)
}

// reaches reports whether the namespace reaches the host.
func (c *chain) reaches() bool {
	return exec.Command("ip", "netns", "exec", c.space, "ping", "-c", "1", "-W", "1", "10.99.1.1").Run() == nil
}

// underlay is the configuration of one of the VPPs.
func (c *chain) underlay(n int) string {
	text := "vppConfig:\n  interfaces:\n"
	for side, link := range []string{c.links[n][1], c.links[n+1][0]} {
		text += fmt.Sprintf("  - {name: side%d, type: AF_PACKET, enabled: true, ipAddresses: [%s], afpacket: {hostIfName: %s}}\n",
			side, [][]string{{"10.99.1.254/24", "10.99.2.1/24"}, {"10.99.2.2/24", "10.99.3.254/24"}}[n][side], link)
	}
	to := []string{"{dstNetwork: 10.99.3.0/24, nextHopAddr: 10.99.2.2, outgoingInterface: side1}", "{dstNetwork: 10.99.1.0/24, nextHopAddr: 10.99.2.1, outgoingInterface: side0}"}
	return text + "  routes:\n  - " + to[n] + "\n"
}

// spawn starts the agent of one of the VPPs.
func (c *chain) spawn(programs string, n int, vpp *realvpptest.VPP, etcd string) {
	c.t.Helper()
	dir := c.t.TempDir()
	for name, text := range map[string]string{
		"network.yaml": c.underlay(n), "filedb.conf": "configuration-paths: [" + filepath.Join(dir, "network.yaml") + "]\n",
		"etcd.conf": "insecure-transport: true\nsession-ttl: 5\nendpoints: ['" + etcd + "']\n", "fleet.conf": "fleet: chain\n",
		"orchestrator.conf": "initial-sync-timeout: 1s\n", // etcd is there when the underlay is
		"govpp.conf":        "binapi-socket-path: " + vpp.Socket + "\nstats-socket-path: " + vpp.StatsSocket + "\n",
	} {
		infratest.Fatal(c.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	p := spawn(c.t, programs, dir, "--state-dir", filepath.Join(dir, "state"), "--microservice-label", fmt.Sprintf("edge-%d", n+1))
	c.t.Cleanup(p.end)
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("agent of VPP %d:\n%s", n+1, p.all.String())
		}
	})
}

// through returns an address on the host whose connections go to etcd by way of the namespace and both VPPs.
func (c *chain) through(etcd string) string {
	c.t.Helper()
	far := c.forward("10.99.1.1:0", func() (net.Conn, error) { return net.Dial("tcp", etcd) })
	return c.forward("127.0.0.1:0", func() (net.Conn, error) {
		// The thread goes back: the children of a thread that ends are killed.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		here, err1 := netns.Get()
		space, err2 := netns.GetFromName(c.space)
		if err := errors.Join(err1, err2, netns.Set(space)); err != nil {
			return nil, err
		}
		defer func() { _ = errors.Join(netns.Set(here), here.Close(), space.Close()) }()
		return net.DialTimeout("tcp4", far, 5*time.Second)
	})
}

// forward passes connections to an address on, and returns the address.
func (c *chain) forward(from string, dial func() (net.Conn, error)) string {
	c.t.Helper()
	l, err := net.Listen("tcp", from)
	infratest.Fatal(c.t, err)
	c.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				server, err := dial()
				if err != nil {
					_ = client.Close()
					return
				}
				go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
				_, _ = io.Copy(client, server)
				_ = client.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func itemOf(t *testing.T, key string, value proto.Message) store.Item {
	t.Helper()
	encoded, err := kv.Encode(value)
	infratest.Fatal(t, err)
	return store.Item{Key: key, Value: encoded}
}

// roll executes a rollout for both agents in one wave, and returns its phase and what the agents report.
func roll(t *testing.T, s store.Store, name string, configs map[string][]store.Item) (rollout.Status, string) {
	t.Helper()
	ctx := t.Context()
	number, err := s.Revise(ctx, store.Revision{}, configs)
	infratest.Fatal(t, err)
	infratest.Fatal(t, s.CreateRollout(ctx, rollout.Rollout{
		Metadata: fleet.Metadata{Name: name},
		Spec: rollout.Spec{
			Revision: number, Waves: [][]string{{"edge-1", "edge-2"}}, ConfirmTimeout: 20 * time.Second, Deadline: time.Minute, Offline: rollout.OfflineFail,
		},
	}))
	view, err := controller.Controller{Store: s, Name: "test"}.Run(ctx, name, func(controller.View) {}, func(error) {})
	infratest.Fatal(t, err)
	return view.Rollout.Rollout.Status, reports(view.Agents)
}

func reports(agents map[string]store.AgentStatus) string {
	return fmt.Sprintf("edge-1 %s, edge-2 %s", agents["edge-1"].Report.State, agents["edge-2"].Report.State)
}

// A change of VPP 1 that cuts off the agent of VPP 2 is taken back, so that the agent reaches etcd again, and traffic passes.
// A change without such an effect is committed.
func TestRolloutThatCutsALink(t *testing.T) {
	vpps := [2]*realvpptest.VPP{realvpptest.Start(t), realvpptest.Start(t)}
	c, programs, server := newChain(t), build(t), kvtest.Etcd(t)
	conf := etcd.DefaultConfig()
	conf.Endpoints, conf.InsecureTransport = []string{server.Addr}, true
	db, closeDB, err := etcd.Open(conf)
	infratest.Fatal(t, err)
	t.Cleanup(func() { _ = closeDB() })
	s := store.New(db, "chain")
	for n, addr := range []string{server.Addr, c.through(server.Addr)} {
		c.spawn(programs, n, vpps[n], addr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond) // agents start, and revert, by themselves
	defer tick.Stop()
	for running := 0; running < 2; <-tick.C {
		infratest.Fatal(t, ctx.Err())
		agents, err := s.Agents(ctx)
		infratest.Fatal(t, err)
		running = 0
		for _, a := range agents {
			if a.Running != nil {
				running++
			}
		}
	}
	loop := &interfaces.Interface{Name: "loop0", Type: interfaces.Interface_SOFTWARE_LOOPBACK, Enabled: true}
	drop := &l3.Route{DstNetwork: "10.99.3.2/32", Type: l3.Route_DROP}
	good := []store.Item{itemOf(t, ifmodel.InterfaceModel.Key(loop), loop)}
	status, has := roll(t, s, "good", map[string][]store.Item{"edge-1": good, "edge-2": good})
	if status.Phase != rollout.PhaseSucceeded || has != "edge-1 Confirmed, edge-2 Confirmed" {
		t.Fatalf("%s %s, %s; expected both agents to have the revision", status.Phase, status.Reason, has)
	}

	bad := append([]store.Item{itemOf(t, l3model.RouteModel.Key(drop), drop)}, good...)
	loop.Mtu = 1400
	status, _ = roll(t, s, "bad", map[string][]store.Item{"edge-1": bad, "edge-2": {itemOf(t, ifmodel.InterfaceModel.Key(loop), loop)}})
	if status.Phase != rollout.PhaseFailed || !strings.Contains(status.Reason, "not healthy in time") {
		t.Errorf("%s %s, expected the wave to be aborted, since edge-2 is cut off", status.Phase, status.Reason)
	}
	for done := false; !done; <-tick.C {
		agents, err := s.Agents(t.Context())
		infratest.Fatal(t, err)
		has = reports(agents)
		done = has == "edge-1 Reverted, edge-2 Reverted" || has == "edge-1 Reverted, edge-2 Stale" // it was cut off before it could apply anything
		for label, a := range agents {
			if done && a.Report.Confirmed != 1 {
				t.Errorf("%s has revision %d, expected 1", label, a.Report.Confirmed)
			}
		}
		if !done && ctx.Err() != nil {
			t.Fatalf("%s; expected both agents to take their changes back", has)
		}
	}
	if !c.reaches() {
		t.Error("the namespace does not reach the host after the rollout")
	}
}

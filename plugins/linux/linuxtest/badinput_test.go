package linuxtest_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/kernel"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	"github.com/tenuto-dev/tenuto/proto/ligato/linux"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// items parses a configuration.
func items(t *testing.T, json string) []proto.Message {
	t.Helper()
	c := &linux.ConfigData{}
	must(t, protojson.Unmarshal([]byte(json), c))
	return allOf(c)
}

// goodPair is what bad items are applied to.
const goodPair = `{"interfaces": [
	{"name": "x", "type": "VETH", "enabled": true, "ipAddresses": ["10.1.0.1/24"], "veth": {"peerIfName": "y"}},
	{"name": "y", "type": "VETH", "enabled": true, "hostIfName": "h-y", "veth": {"peerIfName": "x"}}]}`

// badItems are configurations whose last item cannot be configured, its state, and parts of the reason.
var badItems = []struct {
	name, json string
	state      pb.ValueState
	reason     []string
}{
	{"a name of 16 characters", `{"interfaces": [{"name": "b", "type": "BRIDGE", "hostIfName": "a23456789012345x"}]}`,
		pb.ValueState_INVALID, []string{"host_if_name", `"a23456789012345x"`, "at most 15"}},
	{"a logical name of 16 characters", `{"interfaces": [{"name": "a23456789012345x", "type": "BRIDGE"}]}`,
		pb.ValueState_INVALID, []string{"host_if_name", "at most 15"}},
	{"a slash in a name", `{"interfaces": [{"name": "b", "type": "BRIDGE", "hostIfName": "a/b"}]}`,
		pb.ValueState_INVALID, []string{"host_if_name", `"a/b"`, "no slashes"}},
	{"a slash in a namespace", `{"interfaces": [{"name": "b", "type": "BRIDGE", "namespace": {"type": "NSID", "reference": "a/b"}}]}`,
		pb.ValueState_INVALID, []string{"namespace", `"a/b"`, "without slashes"}},
	{"a name that another item has", `{"interfaces": [{"name": "b", "type": "BRIDGE", "hostIfName": "h-y"}]}`,
		pb.ValueState_FAILED, []string{`"h-y" is taken`}},
	{"an address twice", `{"interfaces": [{"name": "b", "type": "BRIDGE", "ipAddresses": ["10.2.0.1/24", "10.2.0.1/24"]}]}`,
		pb.ValueState_INVALID, []string{"ip_addresses[1]", "10.2.0.1/24"}},
	{"a gateway that is not reachable", `{"routes": [{"dstNetwork": "10.9.0.0/16", "outgoingInterface": "x", "gwAddr": "10.3.0.1", "scope": "GLOBAL"}]}`,
		pb.ValueState_PENDING, []string{"gw-reachable"}},
	{"a rule that nft rejects", `{"nftablesTables": [{"name": "t", "tableName": "t", "content": "chain c {\n nonsense\n}"}]}`,
		pb.ValueState_FAILED, []string{"line 2", "syntax error"}},
	{"a rule that iptables rejects", `{"iptablesRulechains": [{"name": "c", "chainName": "C", "rules": ["-p tcp -j NOWHERE"]}]}`,
		pb.ValueState_FAILED, []string{"NOWHERE"}},
}

// TestBadItems: an item that cannot be configured has a state and a reason that names what is
// wrong, and the other items are configured.
func TestBadItems(t *testing.T) {
	for _, c := range badItems {
		t.Run(c.name, func(t *testing.T) {
			for name, newWorld := range worlds() {
				t.Run(name, func(t *testing.T) {
					w := newWorld(t)
					if w.Sim != nil && strings.Contains(c.name, "rejects") {
						return // the simulator does not know the languages of nft and iptables
					}
					a := linuxtest.Start(t, w)
					good, bad := items(t, goodPair), items(t, c.json)
					must(t, a.Apply(good...))
					err := a.Apply(bad...)
					a.Expect(configured, good...)
					a.Expect(c.state, bad...)
					key := linuxtest.Key(t, bad[0])
					reason := api.Reason(a.State(key))
					for _, part := range c.reason {
						if !strings.Contains(reason, part) {
							t.Errorf("%s: the reason is %q, expected %q in it", key, reason, part)
						}
					}
					if waits := c.state == pb.ValueState_PENDING; waits != (err == nil) {
						t.Errorf("the error of the transaction is %v", err)
					}
					must(t, a.Delete(append(bad, good...)...))
					if links, err := w.Open(t, "").Links(t.Context()); err != nil || len(links) != 1 {
						t.Errorf("links are %+v, %v, expected lo alone", links, err)
					}
				})
			}
		})
	}
}

// commitWithRetry sets items in a transaction whose failures are retried.
func commitWithRetry(t *testing.T, a *linuxtest.Agent, items []proto.Message) error {
	t.Helper()
	txn := a.StartNBTransaction()
	for _, v := range items {
		txn.SetValue(linuxtest.Key(t, v), v)
	}
	_, err := txn.Commit(kvscheduler.WithRetryDefault(t.Context()))
	return err
}

// TestNameThatBecomesFree: an item whose name in the kernel another one has is configured when
// that one is deleted.
func TestNameThatBecomesFree(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		one, two := items(t, `{"interfaces": [{"name": "one", "type": "BRIDGE", "hostIfName": "dev"}]}`), items(t, `{"interfaces": [{"name": "two", "type": "BRIDGE", "hostIfName": "dev"}]}`)
		must(t, a.Apply(one...))
		if err := commitWithRetry(t, a, two); err == nil {
			t.Error("the transaction was successful")
		}
		a.Expect(pb.ValueState_RETRYING, two...)
		must(t, a.Delete(one...))
		awaitConfigured(t, a, two)
	})
}

// addressOf is an address of a link.
func addressOf(link int, prefix string) netlinkapi.Address {
	return netlinkapi.Address{Link: link, Prefix: netip.MustParsePrefix(prefix)}
}

// sameAddresses reports whether a link has these addresses, and no others but those that the kernel
// makes.
func sameAddresses(t *testing.T, h netlinkapi.Addresses, link int, want []string) bool {
	t.Helper()
	all, err := h.Addresses(t.Context())
	must(t, err)
	var got []string
	for _, a := range all {
		if a.Link == link && a.Scope != netlinkapi.ScopeLink {
			got = append(got, a.Prefix.String())
		}
	}
	return slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}

// TestOverlappingAddresses: an interface keeps its other addresses when one in the same network
// is deleted, although the kernel deletes them with the first one of the network.
func TestOverlappingAddresses(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a, own := linuxtest.Start(t, w), w.Open(t, "")
		pair := items(t, goodPair)
		x := pair[0].(*interfaces.Interface)
		x.IpAddresses = []string{"10.1.0.1/24", "10.1.0.2/24", "10.1.0.3/16", "fd00::1/64", "fd00::2/64"}
		must(t, a.Apply(pair...))
		for len(x.IpAddresses) > 0 {
			x = proto.CloneOf(x)
			x.IpAddresses = x.IpAddresses[1:]
			must(t, a.Apply(x))
			a.Quiet("the link has the addresses of the item", func() bool { return sameAddresses(t, own, nltest.MustLink(t, own, "x").Index, x.IpAddresses) })
			a.Expect(configured, x)
		}
	})
}

// TestAlreadyThere: an address, a route and a neighbour that the kernel has already as an item says
// are no error. By the policy "adopt", routes and neighbours stay when the items are deleted.
func TestAlreadyThere(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		must(t, errors.Join(own.AddVeth(t.Context(), "eth", "peer"), own.SetUp(t.Context(), nltest.MustLink(t, own, "peer").Index, true)))
		index := nltest.MustLink(t, own, "eth").Index
		route := netlinkapi.Route{Link: index, Table: netlinkapi.MainTable, Dst: netip.MustParsePrefix("10.9.0.0/16"),
			Gateway: netip.MustParseAddr("10.1.0.2"), Protocol: netlinkapi.ProtocolStatic}
		neighbour := netlinkapi.Neighbour{Link: index, IP: netip.MustParseAddr("10.1.0.7"), MAC: net.HardwareAddr{2, 0, 0, 0, 0, 7}}
		must(t, errors.Join(own.SetUp(t.Context(), index, true), own.AddAddress(t.Context(), addressOf(index, "10.1.0.1/24")), own.AddRoute(t.Context(), route), own.SetNeighbour(t.Context(), neighbour)))
		a := linuxtest.StartAdopting(t, w, "linux-route", "linux-arp")
		eth := items(t, `{"interfaces": [{"name": "e", "type": "EXISTING", "hostIfName": "eth", "enabled": true, "ipAddresses": ["10.1.0.1/24"]}]}`)
		l3 := items(t, `{"routes": [{"dstNetwork": "10.9.0.0/16", "outgoingInterface": "e", "gwAddr": "10.1.0.2", "scope": "GLOBAL"}],
			"arpEntries": [{"interface": "e", "ipAddress": "10.1.0.7", "hwAddress": "02:00:00:00:00:07"}]}`)
		must(t, a.Resync(eth...))
		awaitConfigured(t, a, eth)
		must(t, a.Resync(slices.Concat(eth, l3)...)) // which reads what the interface has
		awaitConfigured(t, a, slices.Concat(eth, l3))
		must(t, a.Delete(l3...))
		a.Expect(pb.ValueState_OBTAINED, l3...)
		if _, err := own.FindRoute(t.Context(), route); err != nil {
			t.Errorf("the route of another program: %v", err)
		}
		neighbours, err := own.Neighbours(t.Context())
		must(t, err)
		if !slices.ContainsFunc(neighbours, func(n netlinkapi.Neighbour) bool { return n.IP == neighbour.IP && n.Permanent }) {
			t.Errorf("the neighbour of another program is not among %+v", neighbours)
		}
		if !sameAddresses(t, own, index, []string{"10.1.0.1/24"}) {
			t.Error("the address no longer exists")
		}
	})
}

// TestAdoptedWhenCreated: by the policy "adopt", an address, routes, a nexthop object and neighbours that exist before the
// agent knows their interface stay when the items are deleted. Without a policy the agent deletes them.
func TestAdoptedWhenCreated(t *testing.T) {
	t.Parallel()
	for name, policies := range map[string][]string{"adopt": {"linux-interface", "linux-route", "linux-nexthop", "linux-arp"}, "managed": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nltest.Run(t, func(t *testing.T, w *nltest.World) { testFoundByCreate(t, w, policies) })
		})
	}
}

func testFoundByCreate(t *testing.T, w *nltest.World, policies []string) {
	own := w.Open(t, "")
	must(t, errors.Join(own.AddVeth(t.Context(), "eth", "peer"), own.SetUp(t.Context(), nltest.MustLink(t, own, "peer").Index, true)))
	index := nltest.MustLink(t, own, "eth").Index
	gateway := netip.MustParseAddr("10.1.0.2")
	same := netlinkapi.Route{Link: index, Table: netlinkapi.MainTable, Dst: netip.MustParsePrefix("10.9.0.0/16"), Gateway: gateway, Protocol: netlinkapi.ProtocolStatic}
	other := same
	other.Dst = netip.MustParsePrefix("10.8.0.0/16")
	nexthop := netlinkapi.Nexthop{ID: 7, NextHop: netlinkapi.NextHop{Link: index, Gateway: gateway}, Protocol: netlinkapi.ProtocolStatic}
	must(t, errors.Join(own.SetUp(t.Context(), index, true), own.AddAddress(t.Context(), addressOf(index, "10.1.0.1/24")), own.AddRoute(t.Context(), same), own.AddRoute(t.Context(), other), own.AddNexthop(t.Context(), nexthop)))
	neighbour := netlinkapi.Neighbour{Link: index, IP: netip.MustParseAddr("10.1.0.7"), MAC: net.HardwareAddr{2, 0, 0, 0, 0, 7}}
	changed := netlinkapi.Neighbour{Link: index, IP: netip.MustParseAddr("10.1.0.8"), MAC: net.HardwareAddr{2, 0, 0, 0, 0, 7}}
	must(t, errors.Join(own.AddNeighbour(t.Context(), neighbour), own.AddNeighbour(t.Context(), changed)))
	all := items(t, `{"interfaces": [{"name": "e", "type": "EXISTING", "hostIfName": "eth", "enabled": true, "ipAddresses": ["10.1.0.1/24"]}],
		"routes": [{"dstNetwork": "10.9.0.0/16", "outgoingInterface": "e", "gwAddr": "10.1.0.2", "scope": "GLOBAL"},
			{"dstNetwork": "10.8.0.0/16", "outgoingInterface": "e", "gwAddr": "10.1.0.3", "scope": "GLOBAL"}],
		"nexthops": [{"name": "n", "id": 7, "outgoingInterface": "e", "gwAddr": "10.1.0.2"}],
		"arpEntries": [{"interface": "e", "ipAddress": "10.1.0.7", "hwAddress": "02:00:00:00:00:07"},
			{"interface": "e", "ipAddress": "10.1.0.8", "hwAddress": "02:00:00:00:00:08"}, {"interface": "e", "ipAddress": "10.1.0.9", "hwAddress": "02:00:00:00:00:09"}]}`)
	a := linuxtest.StartAdopting(t, w, policies...)
	must(t, a.Apply(all...))
	awaitConfigured(t, a, all)
	must(t, a.Delete(all...))
	routes, err := own.StaticRoutes(t.Context())
	must(t, err)
	nexthops, err := own.Nexthops(t.Context())
	must(t, err)
	neighbours, err := own.Neighbours(t.Context())
	must(t, err)
	at := func(ip, mac string) bool {
		return slices.ContainsFunc(neighbours, func(n netlinkapi.Neighbour) bool {
			return n.IP.String() == ip && n.MAC.String() == mac && n.Permanent
		})
	}
	if at("10.1.0.9", "02:00:00:00:00:09") {
		t.Error("a neighbour of the agent remains")
	}
	to := func(dst netip.Prefix, gateway string) bool {
		return slices.ContainsFunc(routes, func(r netlinkapi.Route) bool { return r.Dst == dst && r.Gateway.String() == gateway })
	}
	for what, exists := range map[string]bool{
		"address": sameAddresses(t, own, index, []string{"10.1.0.1/24"}), "route": to(same.Dst, "10.1.0.2"), "changed route": to(other.Dst, "10.1.0.3"),
		"neighbour": at("10.1.0.7", "02:00:00:00:00:07"), "changed neighbour": at("10.1.0.8", "02:00:00:00:00:08"),
		"nexthop object": slices.ContainsFunc(nexthops, func(n netlinkapi.Nexthop) bool { return n.ID == nexthop.ID }),
	} {
		if expected := len(policies) > 0; exists != expected {
			t.Errorf("%s: exists after the items were deleted: %v, expected %v", what, exists, expected)
		}
	}
}

// lackingModule is the reason of an item that needs a module.
var lackingModule = regexp.MustCompile(`not supported by this kernel; (load the module [a-z0-9_]+|the kernel is built without it)`)

// TestLackingModules: an item that needs a module that the kernel lacks is UNIMPLEMENTED, and the
// reason names the module.
func TestLackingModules(t *testing.T) {
	t.Parallel()
	w := nltest.Kernel(t)
	makeForeign(t, w)
	a := linuxtest.Start(t, w)
	all := catalogue(t, "catalogue.json")
	_ = a.Apply(all...)
	lacking := 0
	for _, v := range all {
		status := a.State(linuxtest.Key(t, v))
		if status.GetState() != pb.ValueState_UNIMPLEMENTED {
			continue
		}
		if lacking++; !lackingModule.MatchString(status.GetError()) {
			t.Errorf("%s: the reason is %q, expected the name of the module", status.GetKey(), status.GetError())
		}
	}
	if lacking == 0 {
		t.Skip("SKIPPED: the error about a module that the kernel lacks is not tested, because this kernel has all of them")
	}
}

// missingCapability is logged once.
const missingCapability = "the agent may not change the networking of Linux"

// TestWithoutCapability: without CAP_NET_ADMIN items fail and say so, are not retried, and the agent
// logs it once.
func TestWithoutCapability(t *testing.T) {
	if os.Getenv(withoutCapability) != "" {
		testWithoutCapability(t)
		return
	}
	w := nltest.Kernel(t)
	var output []byte
	err := kernel.OnOwnThread(func() error {
		ns, err := os.Open(w.Path("own"))
		if err != nil {
			return err
		}
		defer ns.Close()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		for _, c := range []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN} {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
				return err
			}
		}
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), withoutCapability+"=1")
		output, err = cmd.CombinedOutput()
		return err
	})
	if err != nil || !strings.Contains(string(output), "--- PASS") {
		t.Fatalf("without capabilities: %v\n%s", err, output)
	}
	if n := strings.Count(string(output), missingCapability); n != 1 {
		t.Errorf("the missing capability was logged %d times:\n%s", n, output)
	}
}

// withoutCapability is the variable of the environment of a process without capabilities.
const withoutCapability = "TENUTO_TEST_WITHOUT_CAPABILITY"

func testWithoutCapability(t *testing.T) {
	k := kernel.New()
	w := &nltest.World{Namespaces: k, Dir: filepath.Join(t.TempDir(), "netns")}
	t.Cleanup(func() { must(t, k.Close()) })
	a := linuxtest.Start(t, w)
	all := items(t, `{"interfaces": [{"name": "b", "type": "BRIDGE"}, {"name": "b2", "type": "BRIDGE"}], "rules": [{"name": "r", "priority": 100, "table": 77}],
		"nftablesTables": [{"name": "t", "tableName": "t", "content": "chain c {\n accept\n}"}]}`)
	if err := commitWithRetry(t, a, all); err == nil {
		t.Error("the transaction was successful")
	}
	a.Expect(pb.ValueState_FAILED, all...) // and not RETRYING
	for _, v := range all {
		if reason := api.Reason(a.State(linuxtest.Key(t, v))); !strings.Contains(reason, "CAP_NET_ADMIN") {
			t.Errorf("the reason is %q, expected the missing capability", reason)
		}
	}
}

package ifplugin_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/descriptor"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// with returns the value with kernel parameters: names and values by turns.
func with(v *interfaces.Interface, sysctls ...any) *interfaces.Interface {
	v = proto.CloneOf(v)
	for i := 0; i < len(sysctls); i += 2 {
		v.Sysctls = append(v.Sysctls, &interfaces.Sysctl{Name: sysctls[i].(string), Value: int32(sysctls[i+1].(int))})
	}
	return v
}

// expectSysctl checks a parameter of a link.
func expectSysctl(t *testing.T, h netlinkapi.Handle, link, name string, want int) {
	t.Helper()
	all, err := h.Sysctls(t.Context(), link, []string{name})
	must(t, err)
	if got, there := all[name]; !there || got != want {
		t.Errorf("%s of %s is %v (%t), expected %d", name, link, got, there, want)
	}
}

// TestSysctls: kernel parameters of interfaces are set, changed, found again by the next agent,
// and become what they were before when they are removed from the value or with it, over IPv4
// and IPv6, on links of the agent and of others.
func TestSysctls(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own, stateDir := w.Open(t, ""), t.TempDir()
		makeDevice(t, own, "eth")
		must(t, own.SetSysctl(t.Context(), "eth", "ipv4.arp_ignore", 2))
		eth := &interfaces.Interface{Name: "outside/1", HostIfName: "eth", Type: interfaces.Interface_EXISTING, Enabled: true}
		x := veth("x", "y", "", "10.1.0.1/24", "fd00:1::1/64")
		a := linuxtest.StartIn(t, w, stateDir)
		all := []proto.Message{
			with(eth, "ipv4.arp_ignore", 1, "ipv6.accept_ra", 0, "ipv4.proxy_arp", 1), with(x, "ipv6.disable_ipv6", 0), with(veth("y", "x", "left"), "ipv4.rp_filter", 2),
		}
		must(t, a.Apply(all...))
		a.Quiet("the existing interface is configured", func() bool { return a.State(linuxtest.Key(t, eth)).GetState() == configured })
		a.Expect(configured, all...)
		left := w.Open(t, "left")
		expectSysctl(t, own, "eth", "ipv4.arp_ignore", 1)
		expectSysctl(t, own, "eth", "ipv6.accept_ra", 0)
		expectSysctl(t, own, "eth", "ipv4.proxy_arp", 1)
		expectSysctl(t, left, "h-y", "ipv4.rp_filter", 2)
		unchanged(t, a, all...)
		a.Stop()
		a = linuxtest.StartIn(t, w, stateDir)
		unchanged(t, a, all...)

		changed := with(eth, "ipv4.arp_ignore", 8, "ipv4.proxy_arp", 1)
		must(t, a.Apply(changed))
		if ops, want := a.Executed(), []string{
			"DELETE " + ifmodel.SysctlKey.Key("ipv6.accept_ra", "outside/1"), "UPDATE " + ifmodel.SysctlKey.Key("ipv4.arp_ignore", "outside/1"),
		}; !slices.Equal(ops, want) {
			t.Errorf("operations are %v, expected %v", ops, want)
		}
		expectSysctl(t, own, "eth", "ipv4.arp_ignore", 8)
		expectSysctl(t, own, "eth", "ipv6.accept_ra", 1)
		must(t, own.SetSysctl(t.Context(), "eth", "ipv4.arp_ignore", 3)) // by another process
		must(t, left.SetSysctl(t.Context(), "h-y", "ipv4.rp_filter", 1))
		must(t, a.Resync(changed, all[1], all[2]))
		expectSysctl(t, own, "eth", "ipv4.arp_ignore", 8)
		expectSysctl(t, left, "h-y", "ipv4.rp_filter", 2)
		a.Stop()

		a = linuxtest.StartIn(t, w, stateDir) // with another configuration
		must(t, a.Resync(with(eth, "ipv4.proxy_arp", 1), all[1], veth("y", "x", "left")))
		expectSysctl(t, own, "eth", "ipv4.arp_ignore", 2)
		expectSysctl(t, own, "eth", "ipv4.proxy_arp", 1)
		expectSysctl(t, left, "h-y", "ipv4.rp_filter", 0)
		must(t, a.Delete(eth))
		expectSysctl(t, own, "eth", "ipv4.proxy_arp", 0)
		expectSysctl(t, own, "eth", "ipv4.arp_ignore", 2)
	})
}

// TestSysctlKilled: whatever the agent had done when it was killed, the next one with another
// configuration leaves the parameters of a foreign link as they were.
func TestSysctlKilled(t *testing.T) {
	t.Parallel()
	for changes, killed := 0, true; killed; changes++ {
		t.Run(fmt.Sprintf("changes=%d", changes), func(t *testing.T) {
			w, stateDir := nltest.Sim(), t.TempDir()
			own := w.Open(t, "")
			makeDevice(t, own, "eth")
			must(t, own.SetSysctl(t.Context(), "eth", "ipv4.arp_ignore", 2))
			before := w.Sim.String()
			eth := &interfaces.Interface{Name: "eth", Type: interfaces.Interface_EXISTING, Enabled: true, LinkOnly: true}
			a := linuxtest.StartIn(t, w, stateDir)
			must(t, a.Resync())
			a.Quiet("the link is known", exists(a, ifmodel.HostInterfaceKey.Key("eth")))
			w.Sim.CrashAfter(changes, func() {
				dead := t.TempDir()
				must(t, os.CopyFS(dead, os.DirFS(stateDir)))
				stateDir = dead
			})
			_ = a.Apply(with(eth, "ipv4.arp_ignore", 1, "ipv4.proxy_arp", 1))
			_ = a.Apply(with(eth, "ipv4.arp_ignore", 4, "ipv6.accept_ra", 0))
			_ = a.Delete(eth)
			killed = w.Sim.Crashed()
			a.Stop()
			crashed := w.Sim.String()
			w.Sim.CrashAfter(-1, nil)
			a = linuxtest.StartIn(t, w, stateDir)
			must(t, a.Resync())
			if after := w.Sim.String(); after != before {
				t.Errorf("left behind:\n%s\nafter the kill it was:\n%s", after, crashed)
			}
		})
	}
}

// TestSysctlLacking: a parameter that this kernel lacks is unimplemented, and its interface is
// there.
func TestSysctlLacking(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	a := linuxtest.Start(t, w)
	must(t, a.Apply(veth("x", "y", ""), veth("y", "x", "")))
	w.Sim.Fail("SetSysctl", netlinkapi.ErrUnsupported, 1)
	v := with(veth("x", "y", ""), "ipv6.seg6_enabled", 1)
	if err := a.Apply(v); err == nil {
		t.Error("it was set")
	}
	a.ExpectKey(unimplemented, ifmodel.SysctlKey.Key("ipv6.seg6_enabled", "x"))
	expectLink(t, w.Open(t, ""), "h-x")
}

func TestValidateSysctls(t *testing.T) {
	t.Parallel()
	d := descriptor.NewInterface(descriptor.Deps{})
	for _, c := range []struct {
		v    *interfaces.Interface
		want string
	}{
		{with(veth("x", "y", ""), "ipv4.rp_filter", 2, "ipv6.disable_ipv6", 1), ""},
		{with(veth("x", "y", "", "fd00::1/64"), "ipv6.disable_ipv6", 0), ""},
		{with(veth("x", "y", ""), "rp_filter", 2), `sysctls[0].name: "rp_filter"; expected one of`},
		{with(veth("x", "y", ""), "ipv4.../../ip_forward", 1), "sysctls[0].name"},
		{with(veth("x", "y", ""), "ipv4.rp_filter", 3), "sysctls[0].value: 3; expected 0 to 2"},
		{with(veth("x", "y", ""), "ipv4.rp_filter", 1, "ipv4.rp_filter", 1), "sysctls[1].name: \"ipv4.rp_filter\" again"},
		{with(veth("x", "y", "", "10.0.0.1/24", "fd00::1/64"), "ipv6.disable_ipv6", 1), "sysctls[0].value: 1; expected 0"},
	} {
		err := d.Validate("", c.v)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: error is %v, expected %q", c.v.GetSysctls(), err, c.want)
		}
	}
}

// A parameter that another program sets is set back at once, if the kernel reports the change.
func TestChangedSysctlIsSetBack(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		x, y := veth("x", "y", ""), veth("y", "x", "left")
		for _, v := range []*interfaces.Interface{x, y} {
			v.Sysctls = []*interfaces.Sysctl{{Name: "ipv4.forwarding", Value: 1}, {Name: "ipv6.forwarding", Value: 1}, {Name: "ipv4.rp_filter", Value: 2}}
		}
		must(t, a.Apply(x, y))
		own, left := w.Open(t, ""), w.Open(t, "left")
		a.Quiet("both namespaces are followed", func() bool { return len(a.Interfaces.States().List()) == 2 })
		for h, link := range map[netlinkapi.Handle]string{own: x.GetHostIfName(), left: y.GetHostIfName()} {
			for _, name := range []string{"ipv4.forwarding", "ipv6.forwarding", "ipv4.rp_filter"} {
				must(t, h.SetSysctl(t.Context(), link, name, 0))
			}
			a.Quiet("the parameters are set back", func() bool {
				now, err := h.Sysctls(t.Context(), link, []string{"ipv4.forwarding", "ipv6.forwarding", "ipv4.rp_filter"})
				must(t, err)
				return now["ipv4.forwarding"] == 1 && now["ipv6.forwarding"] == 1 && now["ipv4.rp_filter"] == 2
			})
		}
		unchanged(t, a, x, y)
	})
}

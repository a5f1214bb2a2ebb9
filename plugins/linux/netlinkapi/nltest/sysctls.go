package nltest

import (
	"net/netip"
	"runtime"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// testSysctls: a link has all parameters that the agent changes, with all values that it
// allows, until it moves into another namespace.
func testSysctls(t *testing.T, w *World) {
	own, a := w.Open(t, ""), w.Make(t, "a")
	must(t, own.AddVeth(t.Context(), "v.a", "vb"))
	for _, name := range netlinkapi.SysctlNames() {
		t.Run(name, func(t *testing.T) { testSysctl(t, own, name, w.Sim == nil) })
	}
	testOffloads(t, own)
	testQueues(t, own)
	testSpeed(t, own)
	all, err := own.Sysctls(t.Context(), "v.a", []string{"ipv4.rp_filter", "ipv4.nonsense", "ipv6.accept_ra"})
	if err != nil || len(all) != 2 {
		t.Errorf("parameters are %v (error %v), expected two", all, err)
	}
	expect(t, "a parameter that there is not", own.SetSysctl(t.Context(), "v.a", "ipv4.nonsense", 1), netlinkapi.ErrUnsupported)
	expect(t, "a link that there is not", own.SetSysctl(t.Context(), "none", "ipv4.rp_filter", 1), netlinkapi.ErrNotFound)
	_, err = own.Sysctls(t.Context(), "none", []string{"ipv4.rp_filter"})
	expect(t, "a link that there is not", err, netlinkapi.ErrNotFound)
	if err := own.SetSysctl(t.Context(), "v.a", "ipv6.hop_limit", 256); err == nil {
		t.Error("the hop limit is 256")
	}
	for _, stands := range []string{"all", "default"} {
		if err := own.SetSysctl(t.Context(), stands, "ipv4.log_martians", 1); err == nil {
			t.Errorf("%s was taken for a link", stands)
		}
	}

	i := MustLink(t, own, "v.a").Index
	must(t, own.AddAddress(t.Context(), netlinkapi.Address{Link: i, Prefix: netip.MustParsePrefix("fd00:1::1/64")}))
	must(t, own.SetSysctl(t.Context(), "v.a", "ipv6.disable_ipv6", 1))
	addrs, err := own.Addresses(t.Context())
	must(t, err)
	for _, addr := range addrs {
		if addr.Link == i {
			t.Errorf("address %+v remains", addr)
		}
	}
	must(t, own.AddAddress(t.Context(), netlinkapi.Address{Link: i, Prefix: netip.MustParsePrefix("fd00:1::1/64")}))
	if got := sysctl(t, own, "ipv6.disable_ipv6"); got != 0 {
		t.Errorf("IPv6 is disabled with an address")
	}
	must(t, own.SetSysctl(t.Context(), "v.a", "ipv4.arp_ignore", 3))
	must(t, own.Move(t.Context(), i, a))
	if got := sysctl(t, a, "ipv4.arp_ignore"); got != 0 {
		t.Errorf("parameter is %d in another namespace", got)
	}
}

// testNamespaceSysctls: a parameter of a namespace belongs to one namespace.
func testNamespaceSysctls(t *testing.T, w *World) {
	own, a := w.Open(t, ""), w.Make(t, "a")
	const name = netlinkapi.TCPAcceptL3Master
	value := func(h netlinkapi.Handle) (int, bool) {
		t.Helper()
		all, err := h.Sysctls(t.Context(), "", []string{name, "ipv4.nonsense"})
		must(t, err)
		got, there := all[name]
		if want := map[bool]int{true: 1}[there]; len(all) != want {
			t.Errorf("parameters are %v", all)
		}
		return got, there
	}
	expect(t, "a parameter that there is not", own.SetSysctl(t.Context(), "", "ipv4.nonsense", 1), netlinkapi.ErrUnsupported)
	if _, there := value(own); !there {
		t.Skip("SKIPPED: parameters of namespaces are not tested, because this kernel has no VRFs")
	}
	for _, want := range []int{1, 0, 1} {
		must(t, own.SetSysctl(t.Context(), "", name, want))
		if got, _ := value(own); got != want {
			t.Errorf("%s is %d, expected %d", name, got, want)
		}
	}
	if got, _ := value(a); got != 0 {
		t.Errorf("%s is %d in another namespace", name, got)
	}
	if err := own.SetSysctl(t.Context(), "", name, 2); err == nil {
		t.Errorf("%s is 2", name)
	}
}

func testSysctl(t *testing.T, h netlinkapi.Handle, name string, mayLack bool) {
	t.Helper()
	before, err := h.Sysctls(t.Context(), "v.a", []string{name})
	must(t, err)
	if _, there := before[name]; !there && mayLack {
		t.Skipf("SKIPPED: %s is not tested on the kernel, which lacks it", name)
	} else if !there {
		t.Fatalf("there is no %s", name)
	}
	lowest, highest, _ := netlinkapi.SysctlRange(name)
	for _, value := range []int{lowest, highest, before[name]} {
		if err := h.SetSysctl(t.Context(), "v.a", name, value); err != nil {
			t.Errorf("%s = %d: %v", name, value, err)
		} else if got := sysctl(t, h, name); got != value {
			t.Errorf("%s is %d, expected %d", name, got, value)
		}
	}
}

// testOffloads: the changeable offloads of a device are turned on and off.
func testOffloads(t *testing.T, h netlinkapi.Handle) {
	t.Helper()
	var names []string
	for _, name := range netlinkapi.OffloadNames() {
		names = append(names, netlinkapi.OffloadParameter(name))
	}
	before, err := h.Sysctls(t.Context(), "v.a", append(names, "ipv4.rp_filter"))
	if err != nil || len(before) != len(names)+1 {
		t.Errorf("offloads are %v (error %v)", before, err)
	}
	for _, name := range []string{netlinkapi.OffloadRXChecksum, netlinkapi.OffloadTXChecksum, "tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload", "tx-vlan-offload"} {
		name = netlinkapi.OffloadParameter(name)
		for _, value := range []int{0, 1, before[name]} {
			if err := h.SetSysctl(t.Context(), "v.a", name, value); err != nil {
				t.Errorf("%s = %d: %v", name, value, err)
			} else if got := sysctl(t, h, name); got != value {
				t.Errorf("%s is %d, expected %d", name, got, value)
			}
		}
	}
	expect(t, "an offload that is fixed", h.SetSysctl(t.Context(), "v.a", netlinkapi.OffloadParameter("ntuple-filters"), 1), netlinkapi.ErrUnsupported)
	expect(t, "an offload that there is not", h.SetSysctl(t.Context(), "v.a", netlinkapi.OffloadParameter("nonsense"), 1), netlinkapi.ErrUnsupported)
	_, err = h.Sysctls(t.Context(), "none", names)
	expect(t, "offloads of a link that there is not", err, netlinkapi.ErrNotFound)
}

// testQueues: a VETH has queues for both directions, as many as the machine has processors.
func testQueues(t *testing.T, h netlinkapi.Handle) {
	t.Helper()
	before, err := h.Sysctls(t.Context(), "v.a", netlinkapi.QueueParameters())
	if err != nil || len(before) != 2 {
		t.Errorf("queues are %v (error %v), expected queues of two directions", before, err)
	}
	for name, now := range before {
		for _, value := range []int{min(2, runtime.NumCPU()), 1, now} {
			if err := h.SetSysctl(t.Context(), "v.a", name, value); err != nil {
				t.Errorf("%s = %d: %v", name, value, err)
			} else if got := sysctl(t, h, name); got != value {
				t.Errorf("%s is %d, expected %d", name, got, value)
			}
		}
	}
	if err := h.SetSysctl(t.Context(), "v.a", netlinkapi.QueuesTX, netlinkapi.MaxQueues); err == nil {
		t.Error("there are as many queues as there may be at all")
	}
	expect(t, "queues that there are not", h.SetSysctl(t.Context(), "v.a", netlinkapi.QueuesCombined, 1), netlinkapi.ErrUnsupported)
}

// testSpeed: a VETH has a speed, and so has what is on it; a loopback has none.
func testSpeed(t *testing.T, h netlinkapi.Handle) {
	t.Helper()
	speeds := map[string]int{"v.a": 10_000, "lo": 0}
	if err := h.AddLink(t.Context(), "vlan.a", netlinkapi.VLAN{ID: 5, Protocol: netlinkapi.VLANProtocol}, MustLink(t, h, "v.a").Index); err == nil {
		speeds["vlan.a"] = 10_000
	} else {
		expect(t, "add a VLAN", err, netlinkapi.ErrUnsupported)
	}
	for link, want := range speeds {
		all, err := h.Sysctls(t.Context(), link, []string{netlinkapi.LinkSpeed})
		if got, there := all[netlinkapi.LinkSpeed]; err != nil || !there || got != want {
			t.Errorf("the speed of %s is %v Mb/s (error %v), expected %d", link, all, err, want)
		}
	}
	all, err := h.Sysctls(t.Context(), "v.a", []string{netlinkapi.LinkSpeed, "ipv4.rp_filter"})
	if err != nil || len(all) != 2 {
		t.Errorf("parameters are %v (error %v), expected two", all, err)
	}
	expect(t, "set the speed", h.SetSysctl(t.Context(), "v.a", netlinkapi.LinkSpeed, 100), netlinkapi.ErrUnsupported)
	_, err = h.Sysctls(t.Context(), "none", []string{netlinkapi.LinkSpeed})
	expect(t, "the speed of a link that there is not", err, netlinkapi.ErrNotFound)
	if speeds["vlan.a"] != 0 {
		must(t, h.DeleteLink(t.Context(), MustLink(t, h, "vlan.a").Index))
	}
}

func sysctl(t *testing.T, h netlinkapi.Handle, name string) int {
	t.Helper()
	all, err := h.Sysctls(t.Context(), "v.a", []string{name})
	must(t, err)
	return all[name]
}

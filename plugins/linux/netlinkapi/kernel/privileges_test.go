package kernel_test

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/kernel"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
)

// privileged reports whether the process has CAP_NET_ADMIN.
func privileged(t *testing.T) bool {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		t.Fatal(err)
	}
	return data[0].Effective&(1<<unix.CAP_NET_ADMIN) != 0
}

// Without privileges the state can be read, and errors name what is missing. A
// privileged test runs itself again without.
func TestWithoutPrivileges(t *testing.T) {
	if privileged(t) {
		again(t)
		return
	}
	k := kernel.New()
	defer k.Close()
	h, err := k.Open("", netlinkapi.Gate{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	links, err := h.Links(t.Context())
	if err != nil || len(links) == 0 {
		t.Errorf("links are %v, error %v", links, err)
	}
	for what, c := range map[string]struct {
		err   error
		needs string
	}{
		"add veth":         {h.AddVeth(t.Context(), "va", "vb"), "CAP_NET_ADMIN"},
		"set link up":      {h.SetUp(t.Context(), 1, true), "CAP_NET_ADMIN"},
		"add address":      {h.AddAddress(t.Context(), netlinkapi.Address{Link: 1, Prefix: netip.MustParsePrefix("fd00::1/64")}), "CAP_NET_ADMIN"},
		"create namespace": {k.Create(filepath.Join(t.TempDir(), "ns")), "CAP_SYS_ADMIN"},
	} {
		if !errors.Is(c.err, netlinkapi.ErrPermission) || !strings.Contains(c.err.Error(), "needs "+c.needs) {
			t.Errorf("%s: error is %v, expected that it needs %s", what, c.err, c.needs)
		}
	}
}

// again runs the calling test in a process without privileges.
func again(t *testing.T) {
	t.Helper()
	var output []byte
	err := kernel.OnOwnThread(func() error {
		for _, c := range []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN} {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
				return err
			}
		}
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		var err error
		output, err = cmd.CombinedOutput()
		return err
	})
	if err != nil {
		t.Errorf("without privileges: %v\n%s", err, output)
	}
}

// Adding an IPv6 address enables IPv6 where it is disabled.
func TestAddressEnablesIPv6(t *testing.T) {
	t.Parallel()
	w := nltest.Kernel(t)
	h := w.Make(t, "a")
	if err := h.AddVeth(t.Context(), "va", "vb"); err != nil {
		t.Fatal(err)
	}
	w.WriteSysctl(t, "a", "1", "net", "ipv6", "conf", "va", "disable_ipv6")
	w.WriteSysctl(t, "a", "1", "net", "ipv6", "conf", "lo", "disable_ipv6")
	a := netlinkapi.Address{Link: nltest.MustLink(t, h, "va").Index, Prefix: netip.MustParsePrefix("fd00::1/64")}
	if err := h.AddAddress(t.Context(), a); err != nil {
		t.Errorf("add an IPv6 address where IPv6 is disabled: %v", err)
	}
}

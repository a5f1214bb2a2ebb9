package vppsim_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
	"github.com/vishvananda/netlink"
	"go.fd.io/govpp/binapi/vpe"
)

// TestConformance runs every script against a real VPP, a fresh one for each, and
// expects the answers that the simulator of the same release gives. VPP is $VPP_BIN
// or the one in PATH. It needs to be root for AF_PACKET.
func TestConformance(t *testing.T) {
	if realvpptest.Find() == "" {
		t.Skip("NOT CHECKED AGAINST A REAL VPP: there is no vpp in PATH and VPP_BIN is not set")
	}
	for _, file := range scripts(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat("/dev/vhost-net"); err != nil && strings.HasSuffix(file, "tap.script") {
				t.Skip("NOT CHECKED AGAINST A REAL VPP: a TAP needs /dev/vhost-net")
			}
			if strings.Contains(string(script), hostInterface) {
				addHostInterface(t)
			}
			c := dial(t, realvpptest.Start(t).Socket)
			if strings.HasSuffix(file, "rdma.script") && !c.has("rdma_create") {
				t.Skip("NOT CHECKED AGAINST A REAL VPP: this one was built without the plugin rdma")
			}
			want := forRelease(string(script), releaseOf(t, c))
			got := runScript(t, c, want)
			if want = unordered(want); unordered(got) != want {
				t.Errorf("a real VPP answers differently:\n%s", diff(want, unordered(got)))
			}
		})
	}
}

// releaseOf is the release that a VPP says to be, such as "25.10".
func releaseOf(t *testing.T, c *client) string {
	t.Helper()
	v, err := binding.ParseVersion(call[vpe.ShowVersionReply](c, &vpe.ShowVersion{}).Version)
	if err != nil {
		t.Fatal(err)
	}
	return v.String()
}

// addHostInterface makes the interface of the kernel that scripts attach to.
func addHostInterface(t *testing.T) {
	t.Helper()
	link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: hostInterface}, PeerName: hostInterface + "-peer"}
	if err := netlink.LinkAdd(link); err != nil {
		t.Fatalf("add veth %s: %v", hostInterface, err)
	}
	t.Cleanup(func() {
		if err := netlink.LinkDel(link); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{hostInterface, hostInterface + "-peer"} {
		l, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := netlink.LinkSetUp(l); err != nil {
			t.Fatal(err)
		}
	}
}

// unordered sorts the answers of each request, because VPP's tables are hashes, and
// leaves out the indexes of counters, which may be zero and then are not printed.
func unordered(script string) string {
	script = strings.ReplaceAll(script, `"stats_index":"*",`, "")
	script = strings.ReplaceAll(script, `,"stats_index":"*"`, "")
	script = strings.ReplaceAll(script, `"stats_index":"*"`, "")
	var out []string
	from := 0
	for _, line := range append(strings.Split(script, "\n"), "") {
		if !strings.HasPrefix(line, "{") && !strings.HasPrefix(line, "event ") {
			slices.Sort(out[from:])
			out = append(out, line)
			from = len(out)
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

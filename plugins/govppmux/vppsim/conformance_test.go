package vppsim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
			for _, m := range namedNamespace.FindAllSubmatch(script, -1) {
				addNamespace(t, string(m[1]))
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

// namedNamespace is a network namespace that VPP opens.
var namedNamespace = regexp.MustCompile(`"netns":"(\w+)"`)

// addNamespace makes a network namespace, unless there is one of that name.
func addNamespace(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Stat("/run/netns/" + name); err == nil {
		return
	}
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		t.Fatalf("ip netns add %s: %v: %s", name, err, out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
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

var (
	// randomMAC is a MAC address that VPP chose.
	randomMAC = regexp.MustCompile(`"02:fe(:[0-9a-f]{2}){4}"`)
	// kernelIndex is an index that the kernel chose.
	kernelIndex = regexp.MustCompile(`"vif_index":\d+`)
)

// unordered sorts the answers of each request, because VPP's tables are hashes, and
// leaves out the indexes of counters, which may be zero and then are not printed, and what
// is chosen at random or by the kernel.
func unordered(script string) string {
	script = randomMAC.ReplaceAllString(script, `"02:fe:*"`)
	script = kernelIndex.ReplaceAllString(script, `"vif_index":"*"`)
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

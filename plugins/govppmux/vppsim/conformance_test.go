package vppsim_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/vishvananda/netlink"
	"go.fd.io/govpp/binapi/vpe"
)

// TestConformance runs every script against a real VPP, a fresh one for each, and
// expects the answers that the simulator of the same release gives. VPP is $VPP_BIN
// or the one in PATH. It needs to be root for AF_PACKET.
func TestConformance(t *testing.T) {
	vpp := os.Getenv("VPP_BIN")
	if vpp == "" {
		vpp, _ = exec.LookPath("vpp")
	}
	if vpp == "" {
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
			socket := startVPP(t, vpp)
			c := dial(t, socket)
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

// startVPP starts a VPP without workers, with everything it writes in a directory
// of the test, and returns its API socket.
func startVPP(t *testing.T, binary string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "vpp") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "api.sock")
	config := filepath.Join(dir, "startup.conf")
	const optional = "plugin linux_cp_plugin.so { enable }" // VPP loads it only if it is asked to
	plugins, libraries := "plugins { "+optional+" }\n", ""
	if found, _ := filepath.Glob(filepath.Join(filepath.Dir(binary), "../lib/*/vpp_plugins")); len(found) > 0 {
		plugins = "plugins { path " + found[0] + " " + optional + " }\n"
		libraries = filepath.Dir(found[0])
	}
	text := fmt.Sprintf(`unix { nodaemon nosyslog nobanner runtime-dir %[1]s log %[1]s/vpp.log cli-listen %[1]s/cli.sock }
api-segment { prefix %[2]s }
socksvr { socket-name %[3]s }
statseg { socket-name %[1]s/stats.sock size 16M page-size 4K }
punt { socket %[1]s/punt.sock }
memory { main-heap-size 256M main-heap-page-size default }
buffers { buffers-per-numa 4096 page-size default }
%[4]s`, dir, filepath.Base(dir), socket, plugins)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-c", config)
	if libraries != "" {
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libraries)
	}
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("VPP said:\n%s", output.String())
		}
	})
	awaitSocket(t, socket)
	return socket
}

// awaitSocket polls until a process outside answers on its socket.
func awaitSocket(t *testing.T, socket string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if conn, err := net.Dial("unix", socket); err == nil {
			_ = conn.Close()
			return
		}
	}
	t.Fatalf("no answer on %s", socket)
}

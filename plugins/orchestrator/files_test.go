package orchestrator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/datasync/kvdbsync"
	"github.com/tenuto-dev/tenuto/infra/kv/filedb"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// startFiles starts an agent that reads the directory.
func startFiles(t *testing.T, sb *kvstest.MockSB, dir string, opts ...orchestrator.Option) *world {
	t.Helper()
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	codec := document.New(set)
	files := filedb.NewPlugin(filedb.UseFormat(codec), filedb.UseConf(filedb.Config{ConfigurationPaths: []string{dir}}))
	sync := kvdbsync.NewPlugin(kvdbsync.UseKV(files), kvdbsync.UseDeps(func(d *kvdbsync.Deps) {
		d.ServiceLabel = servicelabel.NewPlugin()
	}))
	w := start(t, sb, append(opts, orchestrator.UseWatchers(sync), orchestrator.UseCodec(codec),
		orchestrator.UseConf(orchestrator.Config{InitialSyncTimeout: 10 * patience}))...) // reading is slow under the race detector
	<-w.Synced()
	return w
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// From a file that is edited to the southbound, over errors and a restart.
func TestFilesToSouthbound(t *testing.T) {
	t.Parallel()
	dir, sb := t.TempDir(), kvstest.NewMockSB()
	a, b := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.json")
	write(t, a, "vppConfig:\n  interfaces:\n  - {name: loop1, mtu: 1}\n  - {name: loop2, mtu: 1}\n")
	write(t, b, `{"data": [{"key": "/vnf-agent/vpp1/config/vpp/v2/interfaces/loop3", "value": "{\"name\": \"loop3\", \"mtu\": 1}"}]}`)
	w := startFiles(t, sb, dir)
	for _, name := range []string{"loop1", "loop2", "loop3"} {
		w.wantMTU(name, 1)
	}
	if s := w.Sources(); len(s) != 1 || s[0].Name != "filedb" || s[0].Items != 3 || s[0].LastError != "" {
		t.Errorf("sources %+v", s)
	}

	write(t, a, "vppConfig:\n  interfaces:\n  - {name: loop1, mtu: 2}\n  - {name: loop4, mtu: 2}\n")
	until(t, "the file is applied", func() bool { return w.mtu("loop4") == 2 })
	w.wantMTU("loop1", 2)
	w.wantMTU("loop2", -1)

	write(t, a, "vppConfig:\n  interfaces:\n  - {name: loop1, mtu: 3}\n  - {name: loop4, mut: 3}\n")
	until(t, "the good item is applied", func() bool { return w.mtu("loop1") == 3 })
	w.wantMTU("loop4", 2)

	// The agent goes, and comes again: nothing happens to what is right.
	write(t, a, "vppConfig:\n  interfaces:\n  - {name: loop1, mtu: 3}\n  - {name: loop4, mtu: 2}\n")
	w.stop()
	before := sb.String()
	sb.TakeCalls()
	w = startFiles(t, sb, dir)
	for _, call := range sb.TakeCalls() {
		if !strings.HasPrefix(call, "retrieve") {
			t.Errorf("the restart did %s", call)
		}
	}
	if after := sb.String(); after != before {
		t.Errorf("southbound after the restart:\n%s\nwant\n%s", after, before)
	}
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	until(t, "the values of the file are removed", func() bool { return w.mtu("loop3") == -1 })
}

// A key in two files never replaces the value that is in effect, neither while the agent
// runs nor over a restart.
func TestConflictOfFiles(t *testing.T) {
	t.Parallel()
	dir, sb := t.TempDir(), kvstest.NewMockSB()
	a, b, state := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "z.yaml"), usingState(&memory{})
	text := func(mtu int, more string) string {
		return fmt.Sprintf("vppConfig:\n  interfaces:\n  - {name: loop1, mtu: %d}\n  - {name: %s}\n", mtu, more)
	}
	write(t, a, text(1, "a1"))
	w := startFiles(t, sb, dir, state)
	w.wantMTU("loop1", 1)
	write(t, b, text(2, "z1"))
	until(t, "the other items of the second file are applied", func() bool { return w.mtu("z1") == 0 })
	w.wantMTU("loop1", 1)
	w.stop()

	w = startFiles(t, sb, dir, state)
	w.wantMTU("loop1", 1)
	write(t, a, text(1, "a2")) // another change does not decide it
	until(t, "the first file is applied", func() bool { return w.mtu("a2") == 0 })
	w.wantMTU("loop1", 1)
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	until(t, "the remaining file is applied", func() bool { return w.mtu("loop1") == 2 })
	w.stop()

	write(t, a, text(3, "a3"))
	w = startFiles(t, sb, dir, usingState(&memory{})) // without a record the last file is used
	w.wantMTU("loop1", 2)
	w.stop()
	w = startFiles(t, sb, dir, state)
	w.wantMTU("loop1", 2)
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	until(t, "the remaining file is applied", func() bool { return w.mtu("loop1") == 3 })
}

// 10 MB of YAML take effect.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	const n = 40_000
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("vppConfig:\n  interfaces:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - name: interface%06d\n    type: SOFTWARE_LOOPBACK\n    enabled: true\n    mtu: 1500\n    phys_address: \"02:00:00:00:00:01\"\n"+
			"    # %s\n    ip_addresses: [10.%d.%d.%d/32, \"2001:db8:0:0:0:0:0:%x/128\"]\n", i, strings.Repeat("comment ", 10), i>>16, i>>8&255, i&255, i)
	}
	write(t, filepath.Join(dir, "large.yaml"), text.String())
	w := startFiles(t, nil, dir)
	if got := len(w.sb.Keys()); got != n || text.Len() < 10_000_000 {
		t.Errorf("%d of %d values of %d bytes", got, n, text.Len())
	}
}

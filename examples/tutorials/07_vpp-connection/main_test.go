package main

import (
	"path/filepath"
	"regexp"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/examples/internal/exampletest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const want = `connected to VPP 25.10-simulated
one request: created the interface with index 1
two at once: created the interfaces with indexes 2 and 3
many answers: local0, loop0, loop1, loop2
refused: sw_interface_set_flags: VPPApiError: Invalid sw_if_index (-2)
removed the interfaces
`

// talk runs the tutorial with a socket of VPP.
func talk(t *testing.T, socket string) string {
	t.Helper()
	out := exampletest.Start(t, run, "--vpp-socket", socket)
	out.Await(t, "removed the interfaces\n")
	return out.String()
}

func TestSimulator(t *testing.T) {
	if got := talk(t, filepath.Join(t.TempDir(), "nobody.sock")); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// A real VPP says the same, twice: nothing is left behind. Only its version is
// its own.
func TestRealVPP(t *testing.T) {
	vpp := realvpptest.Start(t)
	version := regexp.MustCompile(`^connected to VPP .*`)
	for range 2 {
		got := version.ReplaceAllString(talk(t, vpp.Socket), "connected to VPP 25.10-simulated")
		if got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	}
}

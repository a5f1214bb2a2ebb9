package app_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// A VPP that cannot run is started again and again, and health shows its last lines of output.
func TestLocalVPPThatEnds(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "vpp")
	if err := infratest.Script(program, "#!/bin/sh\necho \"no huge pages\" >&2\nexit 3\n"); err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, "", "--start-vpp", program)
	h.start(t)
	h.awaitReadiness(t, http.StatusServiceUnavailable, "VPP ended, restarting it: exit status 3: no huge pages")
}

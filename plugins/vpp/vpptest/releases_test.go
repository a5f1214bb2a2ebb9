package vpptest_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
)

var (
	release      = flag.String(vpptest.ReleaseFlag, "", "the release of VPP that is simulated")
	everyRelease = flag.Bool("every-release", false, "TestEveryRelease tests the simulators of all releases; default: of those that differ most")
)

// different are the oldest and the newest release, and releases before which many messages
// that the agent sends, or the simulator, changed.
var different = []string{"22.10", "23.10", "24.02", "24.10", "25.10", "26.06"}

// faults are the tests of crashes, stalls, timeouts, restarts, sizes, allocated addresses, spellings and
// conflicts. They take long, and what they test depends little on the release: they run with the newest one
// alone.
const faults = "^Test(Killed|Stall|Canceled|LostReplies|NoReply|ReadAfterCanceled|DeletedByHandUnderLoad|" +
	"IKEv2InitiatesAgain|ClassifierRoom|ACLScale|RestartBesideMany|ChangedWhileStopped|ItemFaults|ItemsWithAllocatedAddresses|" +
	"AddressSpellings|MarkedObjects|DiesLater|RemovedMTU|PlansNameConflicts|Conflicts)"

// Every test of this package passes with the simulator of every release: each is
// a process of its own, which runs all the others but for the faults.
// Without -every-release, only some releases are tested.
func TestEveryRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	if *release != "" {
		t.Skip("all others do, of release ", *release)
	}
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	releases := different
	if all := binding.Releases(); *everyRelease {
		releases = all
	} else if first, last := all[0], all[len(all)-1]; different[0] != first || different[len(different)-1] != last {
		t.Errorf("the releases tested are %v, expected %s and %s to be the first and the last one", different, first, last)
	}
	for _, r := range releases {
		t.Run(r, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := exec.CommandContext(ctx, program, "-"+vpptest.ReleaseFlag, r, "-walks=3", "-test.skip="+faults)
			// A real VPP would answer as it does anyway.
			cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "VPP_BIN=") }), "PATH=",
				"GOGC=400") // agents start and stop all the time
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// forget makes the simulator one that does not know messages, as some releases do
// not anyway.
func forget(t *testing.T, target vpptest.Target, messages ...string) {
	t.Helper()
	for _, m := range messages {
		if err := target.Sim.Forget(m); err != nil && !errors.Is(err, vppsim.ErrUnknownMessage) {
			t.Fatal(err)
		}
	}
}

// newest is the first of the messages that the simulator knows.
func newest(t *testing.T, target vpptest.Target, messages ...string) string {
	t.Helper()
	at := slices.IndexFunc(messages, func(m string) bool { return slices.Contains(target.Sim.Messages(), m) })
	if at < 0 {
		t.Fatalf("knows none of %v", messages)
	}
	return messages[at]
}

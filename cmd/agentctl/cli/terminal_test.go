package cli

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
)

// The texts of status and the list of metrics are not wider than the terminal.
func TestTextsFit(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	for line, want := range map[string]string{
		"status":       "    Simulated:   vpp, linux (VPP and Linux are simulated: CONFIGURED values\n                 exist only inside the agent)\n",
		"top -n 1":     "    Waiting:     201 changes, the first for 1m1s (filedb: 1, grpc: 200; clients:\n                 200 of 200, 198 from 10.0.0.7:999)\n",
		"metrics list": "vpp_interface_name_of_many_words_in_   gauge     1        Bytes that an\n  bytes",
	} {
		r := f.runOn(t, output.Terminal{Out: true, Width: 80}, map[string]string{"NO_COLOR": "1"}, strings.Fields(line)...)
		if !strings.Contains(r.out, want) {
			t.Errorf("%s: printed\n%s%s", line, r.out, r.err)
		}
		for line := range strings.Lines(r.out) {
			if n := output.Width(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	}
}

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// repeated is a text with numbered lines.
func repeated(n int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("  - " + line(i) + "\n")
	}
	return b.String()
}

// A file with hundreds of mistakes has a bounded report, which counts all of them.
func TestManyMistakes(t *testing.T) {
	t.Parallel()
	program := agentProgram(t)
	const interfaces, routes = "vppConfig:\n  interfaces:\n", "  routes:\n"
	unknown := func(i int) string {
		return fmt.Sprintf("{name: l%d, type: SOFTWARE_LOOPBACK, enabled: true, bogus: 1}", i)
	}
	overlap := func(i int) string {
		return fmt.Sprintf("{name: o%d, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.1.%d.%d/15]}", i, i/250, i%250+1)
	}
	invalid := func(i int) string {
		return fmt.Sprintf("{name: i%d, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.300.0.1/24]}", i)
	}
	down := func(i int) string {
		return fmt.Sprintf("{name: d%d, type: SOFTWARE_LOOPBACK, ipAddresses: [10.%d.%d.1/24]}", i, 100+i/250, i%250)
	}
	waiting := func(i int) string {
		return fmt.Sprintf("{dstNetwork: 10.%d.%d.0/24, nextHopAddr: 10.0.0.1, outgoingInterface: if%d}", i/250, i%250, i)
	}
	partial := func(i int) string { return strings.Replace(overlap(i), "}", ", bogus: 1}", 1) }
	for _, c := range []struct {
		name, text, more string
		verdict          string
		mistakes, waits  int
	}{
		{"decode errors", interfaces + repeated(500, unknown), "and 400 more mistakes\n", "refused: 500 mistakes\n", 500, 0},
		{"invalid fields", interfaces + repeated(500, invalid), "and 400 more mistakes\n", "refused: 500 mistakes\n", 500, 0},
		{"overlaps", interfaces + repeated(501, overlap), "and 400 more mistakes\n", "refused: 500 mistakes\n", 500, 0},
		{"more than the results of an agent", interfaces + repeated(1501, overlap), "and 1400 more mistakes\n", "refused: 1500 mistakes\n", 1500, 0},
		{"references", "vppConfig:\n" + routes + repeated(500, waiting), "and 400 more items that wait\n", "is valid; 500 of 500 items wait for what is not in it\n", 0, 500},
		{"many references", "vppConfig:\n" + routes + repeated(1500, waiting), "and 1400 more items that wait\n", "is valid; 1500 of 1500 items wait for what is not in it\n", 0, 1500},
		{"likely mistakes", interfaces + repeated(150, down), "and 50 more likely mistakes\n", "OK: 150 items, 150 with a likely mistake\n", 0, 0},
		{"items with errors overlap", interfaces + repeated(50, partial), "", "refused: 99 mistakes\n", 99, 0},
		{"a mix", interfaces + repeated(500, unknown) + repeated(501, overlap) + routes + repeated(500, waiting), "and 900 more mistakes\nand 500 more items that wait\n", "refused: 1000 mistakes; 500 of 1501 items wait for what is not in it\n", 1000, 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := write(t, "net.yaml", c.text)
			code := 0
			switch {
			case c.mistakes > 0:
				code = 1
			case c.waits > 0:
				code = 2
			}
			r := run(t, nil, "check", "--program", program, file)
			if lines := strings.Count(r.err, "\n"); r.code != code || lines > 103 || !strings.Contains(r.err, c.more) || !strings.Contains(r.out+r.err, c.verdict) {
				t.Errorf("exit %d, expected %d, and %q and %q; %d lines:\n%s%s", r.code, code, c.more, c.verdict, lines, r.out, r.err)
			}
			r = run(t, nil, "check", "--program", program, file, "-o", "json")
			var list []outcome.Finding
			infratest.Fatal(t, json.Unmarshal([]byte(r.out), &list))
			mistakes, waits := 0, 0
			for _, f := range list {
				switch {
				case f.State == "PENDING":
					waits += max(1, f.More)
				case f.Level != outcome.Warning:
					mistakes += max(1, f.More)
				}
			}
			if len(list) > 1003 || mistakes != c.mistakes || waits != c.waits || r.code != code {
				t.Errorf("JSON: exit %d, %d findings with %d mistakes and %d that wait, expected exit %d, %d and %d", r.code, len(list), mistakes, waits, code, c.mistakes, c.waits)
			}
		})
	}
}

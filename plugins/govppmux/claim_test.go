package govppmux

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/holder"
)

func agentOf(label string, pid int, since time.Time) holder.Identity {
	return holder.Identity{Program: "vpp-agent", Label: label, PID: pid, Since: since, Instance: "0a1b2c3d"}
}

// A claim fits what VPP lists of a name, whatever it is about.
func TestClaimNames(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 23, 1, 2, 3, 4, time.UTC)
	for _, id := range []holder.Identity{
		agentOf("vpp1", 4242, start), agentOf("", 1, time.Unix(0, 0)), agentOf(strings.Repeat("x", 300), 1<<22, start.AddDate(1000, 0, 0)),
	} {
		for _, role := range []byte{holds, competes} {
			c := claimOf(role, id)
			if got, ok := parseClaim(c.name()); !ok || got != c || len(c.name()) != claimLength {
				t.Errorf("%q: %+v, expected %+v", c.name(), got, c)
			}
		}
	}
	if got, want := claimOf(holds, agentOf("vpp1", 4242, start)).String(), "vpp-agent pid 4242 since 2026-11-23T01:02:03Z"; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
	for _, name := range []string{"", "tenuto", "~", strings.Repeat("~", 20), "~h" + strings.Repeat("+", 18), "~x" + strings.Repeat("A", 18), strings.Repeat("A", 20)} {
		if c, ok := parseClaim(name); ok {
			t.Errorf("%q is taken for %+v", name, c)
		}
	}
}

func TestClaimsInAList(t *testing.T) {
	t.Parallel()
	c := claimOf(holds, agentOf("vpp1", 7, time.Unix(1e9, 0)))
	text := fmt.Sprintf("Shared memory clients\n  Name  PID\n\nSocket clients\n%20s %8s\n%20.20s %8d\n%20s %8d\n", "Name", "Fildesc", "vpp_api_test", 9, c.name(), 12)
	if got := claims(text); len(got) != 1 || got[0] != c {
		t.Errorf("got %+v", got)
	}
}

// At most one of the agents that see each other may continue, whatever the order in which they
// look: one that holds VPP stays, the earliest of those that compete waits for the others.
func TestJudge(t *testing.T) {
	t.Parallel()
	first, second := agentOf("a", 1, time.Unix(100, 0)), agentOf("a", 2, time.Unix(200, 0))
	other := agentOf("b", 3, time.Unix(50, 0))
	for _, c := range []struct {
		who  holder.Identity
		all  []claim
		want verdict
	}{
		{first, nil, alone},
		{first, []claim{claimOf(competes, first), claimOf(holds, first)}, alone},
		{first, []claim{claimOf(holds, other)}, alone},
		{first, []claim{claimOf(competes, second)}, waits},
		{second, []claim{claimOf(competes, first)}, yields},
		{first, []claim{claimOf(holds, second)}, yields},
		{second, []claim{claimOf(holds, first)}, yields},
		{first, []claim{claimOf(competes, second), claimOf(holds, second)}, yields},
	} {
		if got, _ := claimOf(competes, c.who).judge(c.all); got != c.want {
			t.Errorf("%+v of %+v: %v, expected %v", c.who, c.all, got, c.want)
		}
	}
}

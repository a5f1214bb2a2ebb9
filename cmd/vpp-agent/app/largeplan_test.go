package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// A plan of 100,000 routes can be shown, saved and applied: the client gets its
// fingerprint, and the agent plans again before it applies.
func TestLargePlan(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	t.Parallel()
	const routes = 100_000
	h := newHouse(t, "", "--simulate")
	h.start(t)
	h.awaitReadiness(t, http.StatusOK, "")
	u, err := url.Parse(h.HTTP.URL())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(client.Options{Host: u.Hostname(), Port: port})
	defer c.Close()
	var text strings.Builder
	text.WriteString("vppConfig:\n  interfaces:\n  - {name: loop, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [10.255.0.1/16]}\n  routes:\n")
	for i := range routes {
		fmt.Fprintf(&text, "  - {dstNetwork: %d.%d.%d.0/24, nextHopAddr: 10.255.0.2, outgoingInterface: loop}\n", 20+i>>16, i>>8&255, i&255)
	}
	request := client.PlanRequest{Document: text.String()}
	sealed, err := c.Plans.Make(t.Context(), request, 10)
	if err != nil {
		t.Fatal(err)
	}
	var plan struct {
		Source, Fingerprint string
		Changes             *api.Plan
		Counts              map[api.StepKind]int
		Changed, Omitted    int
		Items, Left         any
	}
	if err := api.OpenPlan(sealed, &plan); err != nil {
		t.Fatal(err)
	}
	if len(sealed) > 1<<16 || plan.Counts[api.StepCreate] < routes || len(plan.Changes.Operations) != 10 {
		t.Errorf("%d bytes, %v, %d operations", len(sealed), plan.Counts, len(plan.Changes.Operations))
	}
	applied, err := c.Plans.Apply(t.Context(), request, plan.Fingerprint, client.ApplyOptions{})
	if err != nil || applied.Summary == nil || applied.Summary.InEffect != routes+1 {
		t.Fatalf("%v: %+v", err, applied.Summary)
	}
	if h.GoVPP.Records() == 0 {
		t.Error("the records that VPP sent are not counted")
	}
	if _, err := c.Plans.Apply(t.Context(), request, plan.Fingerprint, client.ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "the plan is stale") {
		t.Errorf("the plan was applied already: %v", err)
	}
}

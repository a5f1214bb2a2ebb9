package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
)

// plans are what the user's document prints for the four transactions of the
// three cases.
var plans = []string{
	`1. CREATE:
  - key: /interface/if1
  - value: { name:"if1" }
2. CREATE:
  - key: /route/route1
  - value: { name:"route1" interface_name:"if1" }`,
	`1. CREATE:
  - key: /interface/if2
  - value: { name:"if2" }
2. CREATE:
  - key: /route/route2
  - value: { name:"route2" interface_name:"if2" }`,
	`1. CREATE [NOOP IS-PENDING]:
  - key: /route/route3
  - value: { name:"route3" interface_name:"if3" }`,
	`1. CREATE:
  - key: /interface/if3
  - value: { name:"if3" }
2. CREATE [WAS-PENDING]:
  - key: /route/route3
  - value: { name:"route3" interface_name:"if3" }`,
}

func TestThreeCases(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a, p := newAgent(&out, agent.Args(), agent.Environ(config.NoEnviron), agent.QuitSignals(), agent.Logging(infratest.Loggers(t)))
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-p.done; err != nil {
		t.Error(err)
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	agenttest.CheckLeaks(t, a)
	for _, part := range []string{"planned", "executed"} {
		if got := operations(out.String(), part); !slices.Equal(got, plans) {
			t.Errorf("%s operations:\n%s\nwant:\n%s", part, strings.Join(got, "\n---\n"), strings.Join(plans, "\n---\n"))
		}
	}
}

// operations cuts the lists of operations out of the transaction log, without
// their indentation.
func operations(log, part string) (lists []string) {
	var list []string
	inside := false
	for _, line := range append(strings.Split(log, "\n"), "") {
		switch {
		case strings.HasPrefix(line, "  * "+part+" operations"):
			inside = true
		case inside && strings.HasPrefix(line, "      "):
			line = strings.Replace(line[6:], "    - ", "  - ", 1)
			list = append(list, line)
		case inside:
			lists = append(lists, strings.Join(list, "\n"))
			list, inside = nil, false
		}
	}
	return lists
}

// The descriptors keep what descriptors promise.
func TestDescriptors(t *testing.T) {
	t.Parallel()
	log := infratest.Logger(t, "helloworld")
	kvstest.Check(t, NewIfDescriptor(log), NewRouteDescriptor(log))
}

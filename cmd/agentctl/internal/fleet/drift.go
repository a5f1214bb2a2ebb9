package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/store"
)

type driftOptions struct {
	engine
	selector string
}

func newDrift(f *cmdutil.Factory) *cobra.Command {
	o := &driftOptions{engine: engine{Factory: f}}
	cmd := f.Formatted(&cobra.Command{
		Use: "drift", Short: "Show the agents whose southbound differs from their configuration", Args: cmdutil.Args(cobra.NoArgs),
		Long: "Shows the agents that have found drift: items that are missing or different in VPP or Linux, or that exist without being\n" +
			"configured, each with the first items. It asks etcd only, and shows what each agent found last. An agent looks for drift\n" +
			"periodically if drift-detection-interval in its kvscheduler.conf says so, and when 'agentctl --target AGENT drift'\n" +
			"asks it. -o wide shows all agents and items that were reported.\n\n" +
			"The exit code is 2 if an agent has drift.",
		Example: "  agentctl fleet drift\n  agentctl fleet drift -l site=paris -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd.Context(), o.show)
		},
	})
	o.flags(cmd)
	o.selectorFlag(cmd, &o.selector)
	return cmd
}

// driftView is the output of -o.
type driftView struct {
	Agents []agentDrift `json:"agents"`
	// Without is the number of agents that found none, and Unknown are those that have not looked for it.
	Without int      `json:"without"`
	Unknown []string `json:"unknown,omitempty"`
}

// agentDrift is an agent with drift.
type agentDrift struct {
	Agent     string `json:"agent"`
	Revision  int64  `json:"revision"`
	Connected bool   `json:"connected"`
	store.Findings
}

func (o *driftOptions) show(ctx context.Context, s store.Store) error {
	selector, err := fleet.ParseSelector(o.selector)
	if err != nil {
		return exit.Usagef("--selector: %w", err)
	}
	all, err := s.Agents(ctx)
	if err != nil {
		return err
	}
	v, selected := driftView{Agents: []agentDrift{}}, 0
	for _, label := range slices.Sorted(maps.Keys(all)) {
		a := all[label]
		if !selector.Matches(a.Labels()) {
			continue
		}
		selected++
		switch d := a.Status.Drift; {
		case d == nil:
			v.Unknown = append(v.Unknown, label)
		case d.Count == 0:
			v.Without++
		default:
			v.Agents = append(v.Agents, agentDrift{label, a.Report.Confirmed, a.Running != nil, *d})
		}
	}
	if selected == 0 && o.selector != "" && len(all) > 0 {
		return fmt.Errorf("--selector: %s selects none of %s", selector, effects.Count(len(all), "agent"))
	}
	slices.SortStableFunc(v.Agents, func(a, b agentDrift) int { return cmp.Compare(b.Count, a.Count) })
	if err := output.Show(o.Printer, v, o.print); err != nil {
		return err
	}
	if len(v.Agents) > 0 {
		return exit.Findingf("drift on %d of %s", len(v.Agents), effects.Count(selected, "agent"))
	}
	return nil
}

// shownDrift is how many agents are shown, and shownDrifted how many items of each, unless -o wide is given.
const (
	shownDrift   = 15
	shownDrifted = 2
)

func (o *driftOptions) print(v driftView) error {
	agents, items := shownDrift, shownDrifted
	if o.Wide {
		agents, items = len(v.Agents), math.MaxInt
	}
	if len(v.Agents) > 0 {
		t := output.NewTable("AGENT", "REVISION", "ITEMS", "SINCE", "FIRST")
		for _, a := range v.Agents[:min(agents, len(v.Agents))] {
			label := a.Agent
			if !a.Connected {
				label += " (not connected)"
			}
			t.Row(label, a.Revision, a.Count, o.AgeOf(a.Since), strings.Join(o.lines(a, items), "\n"))
		}
		if err := t.Write(o.Printer); err != nil {
			return err
		}
	}
	if more := len(v.Agents) - agents; more > 0 {
		if err := o.Printf("and %s with drift; -o wide shows them\n", effects.Count(more, "more agent")); err != nil {
			return err
		}
	}
	text := effects.Count(v.Without, "agent") + " without drift"
	if len(v.Unknown) > 0 {
		text += fmt.Sprintf("; %s not looked for it: %s (drift-detection-interval in kvscheduler.conf)", have(len(v.Unknown)), o.labels(v.Unknown))
	}
	return o.Print(text + "\n")
}

// have is "1 has" or "2 have".
func have(n int) string {
	if n == 1 {
		return "1 has"
	}
	return output.Thousands(uint64(n)) + " have"
}

// lines describes the first items of an agent.
func (o *driftOptions) lines(a agentDrift, most int) (lines []string) {
	for _, it := range a.First[:min(most, len(a.First))] {
		lines = append(lines, o.Models.ShortKey(it.Key)+" "+describeState(it.State)+after(": ", o.Models.ShortText(it.Reason)))
	}
	if more := a.Count - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %s: agentctl --target %s drift", output.Thousands(uint64(more))+" more", a.Agent))
	}
	return lines
}

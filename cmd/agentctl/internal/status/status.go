// Package status has the commands that show the state and the version of the agent.
package status

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

// statusData is what "status" knows, under the names that programs expect.
type statusData struct {
	Status  client.Status
	Version client.Version
	Queue   *api.QueueStatus  // of the scheduler; nil: the agent has none
	Values  *response.Summary `json:",omitempty"` // nil: the agent has no scheduler
	// Simulated lists the southbounds that are simulated: "vpp", "linux".
	Simulated []string `json:",omitempty"`
}

// worstShown is how many values that are not in effect "status" names.
const worstShown = 3

// statusPoll is the pause between two questions of "status --wait".
const statusPoll = 200 * time.Millisecond

type options struct {
	*cmdutil.Factory
	wait bool
}

// New returns the command "status".
func New(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := output.AsInLigato(f.Formatted(&cobra.Command{
		Use:     "status",
		Example: "  agentctl status --wait --timeout 30s",
		Short:   "Show the state of the agent and of its plugins",
		Long: "Shows the state of the agent and of its plugins. The exit code is 1 if the agent is not ready, and\n" +
			"2 if it is ready and DEGRADED; the reason is on the last line. An agent with values that failed is\n" +
			"DEGRADED and ready, unless ready-despite in probe.conf says otherwise.\n\n" +
			"With -o json or yaml, Status.state and the states in plugins and PluginStatus are numbers, which scripts\n" +
			"for Ligato expect: 0 is INIT, 1 OK, 2 ERROR or DEGRADED. Status.health has all of them by name.",
		Args: cmdutil.Args(cobra.NoArgs),
		RunE: o.run,
	}))
	cmd.Flags().BoolVarP(&o.wait, "wait", "w", false, "wait until the agent is ready, for --timeout at most")
	return cmd
}

func (o *options) run(cmd *cobra.Command, _ []string) error { return o.status(cmd.Context(), o.wait) }

func (o *options) status(ctx context.Context, wait bool) error {
	ask := func(ctx context.Context) (statusData, bool, error) { return askStatus(ctx, o.Factory) }
	if wait {
		ask = o.awaitReady
	}
	data, ready, err := ask(ctx)
	if err != nil {
		return err
	}
	switch err := output.Show(o.Printer, data, o.printStatus); {
	case err != nil:
		return err
	case !ready:
		ignored := slices.Concat(data.Status.NonFatalPlugins, data.Status.ReadyDespite)
		return fmt.Errorf("the agent is not ready: %s", cmp.Or(strings.Join(troubles(data.Status, ignored), "; "), "it is starting or stopping"))
	case data.Status.Health.State != "OK":
		return exit.Findingf("the agent is ready and %s: %s", data.Status.Health.State, strings.Join(troubles(data.Status, nil), "; "))
	}
	return nil
}

func askStatus(ctx context.Context, f *cmdutil.Factory) (data statusData, ready bool, err error) {
	if data.Status, ready, err = f.Client.Agent.Status(ctx); err != nil {
		return data, false, err
	}
	if data.Version, err = f.Client.Agent.Version(ctx); err != nil {
		return data, ready, err
	}
	data.Simulated, _ = f.Client.Agent.Simulated(ctx) // an agent without VPP does not report it
	queue, err := f.Client.Scheduler.Queue(ctx)
	switch {
	case cmdutil.NotServed(err): // an agent without scheduler
		return data, ready, nil
	case err != nil:
		return data, ready, err
	}
	data.Queue = &queue
	sum, err := f.Client.Scheduler.Summary(ctx, worstShown)
	data.Values = &sum
	return data, ready, err
}

// awaitReady asks again and again; when the time is over, the last answer counts.
func (o *options) awaitReady(ctx context.Context) (data statusData, ready bool, err error) {
	bound, cancel := o.Flags.Bounded(ctx)
	defer cancel()
	tick := time.NewTicker(statusPoll)
	defer tick.Stop()
	for {
		data, ready, err = askStatus(ctx, o.Factory)
		if err == nil && ready {
			return data, ready, nil
		}
		select {
		case <-bound.Done():
			return data, ready, err
		case <-tick.C:
		}
	}
}

// troubles says why the agent is not ready, or DEGRADED: causes rather than effects, except for
// ignored plugins and parts.
func troubles(s client.Status, ignored []string) (list []string) {
	for _, p := range s.Health.Plugins {
		p.CausedBy = slices.DeleteFunc(slices.Clone(p.CausedBy), func(cause string) bool {
			return !slices.ContainsFunc(s.Health.Plugins, func(o client.HealthState) bool { return o.Name == cause && blocks(o, o.Name, ignored) })
		})
		if blocks(p, p.Name, ignored) && effectOf(p) == "" {
			p.Parts = slices.DeleteFunc(slices.Clone(p.Parts), func(part client.HealthState) bool { return !blocks(part, p.Name+"/"+part.Name, ignored) })
			list = append(list, p.Name+" is "+p.State+oneLine(reasonOf(p)))
		}
	}
	return list
}

// blocks reports whether a plugin or part is in trouble that keeps the agent from
// being ready.
func blocks(p client.HealthState, path string, ignored []string) bool {
	if p.Well() || slices.Contains(ignored, path) {
		return false
	}
	if p.Reason != "" || p.Error != "" || len(p.Parts) == 0 {
		return true
	}
	return slices.ContainsFunc(p.Parts, func(part client.HealthState) bool { return blocks(part, path+"/"+part.Name, ignored) })
}

// effectOf names the other plugins that cause the trouble of a plugin.
func effectOf(p client.HealthState) string {
	var others []string
	for _, c := range p.CausedBy {
		if name, _, _ := strings.Cut(c, "/"); name != p.Name {
			others = append(others, c)
		}
	}
	return strings.Join(others, ", ")
}

// reasonOf returns ": reason: error" of a plugin, or of its first part which is not
// well.
func reasonOf(p client.HealthState) string {
	if part := troubledPart(p); part != nil {
		return ": " + part.Name + reasonOf(*part)
	}
	said := slices.DeleteFunc([]string{p.Reason, p.Error}, func(s string) bool { return s == "" })
	if len(said) > 0 {
		return ": " + strings.Join(said, ": ")
	}
	return ""
}

// troubledPart returns the first part that is not well, if the plugin reports no error itself: its
// reason then says how it is, not what is wrong.
func troubledPart(p client.HealthState) *client.HealthState {
	i := slices.IndexFunc(p.Parts, func(part client.HealthState) bool { return !part.Well() })
	if i < 0 || p.Error != "" {
		return nil
	}
	return &p.Parts[i]
}

// sinceOf returns the time since when the reason that reasonOf returns holds.
func sinceOf(p client.HealthState) time.Time {
	if part := troubledPart(p); part != nil {
		return sinceOf(*part)
	}
	return p.Since
}

// oneLine puts joined errors into a line.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "; ") }

func (o *options) printStatus(d statusData) error {
	var b strings.Builder
	s, v, now := d.Status, d.Version, o.Now()
	line := func(name, value string) { o.WriteField(&b, fmt.Sprintf("    %-13s", name+":"), value) }
	b.WriteString("AGENT\n")
	line("App name", v.App)
	line("Version", v.Version)
	b.WriteString("\n")
	line("State", o.PaintState(s.Health.State))
	line("Started", fmt.Sprintf("%s (%s ago)", s.Health.Started.UTC().Format(time.DateTime+" MST"), output.Age(now, s.Health.Started)))
	line("Last change", output.Age(now, s.Health.LastChange)+" ago")
	if len(d.Simulated) > 0 {
		line("Simulated", strings.Join(d.Simulated, ", ")+" ("+cmdutil.SimulationNote(d.Simulated)+")")
	}
	b.WriteString("\n")
	line("Go version", v.GoVersion)
	line("OS/Arch", v.OS+"/"+v.Arch)
	if v.GitCommit != "" && v.GitCommit != "unknown" {
		line("Git commit", v.GitCommit)
	}
	if v.BuildTime != 0 {
		line("Built", time.Unix(v.BuildTime, 0).UTC().Format(time.DateTime+" MST"))
	}
	if d.Queue != nil {
		b.WriteString("\nQUEUE\n")
		writeQueue(o.Factory, &b, d.Queue)
	}
	if d.Values != nil {
		b.WriteString("\nITEMS\n")
		writeSummary(o.Factory, &b, d.Values)
	}
	b.WriteString("\nPLUGINS\n")
	o.writePlugins(&b, s.Health.Plugins)
	return o.Print(b.String())
}

// writePlugins writes the plugins that are not OK or say more than that, with -o wide all.
func (o *options) writePlugins(b *strings.Builder, all []client.HealthState) {
	var shown []client.HealthState
	well, disabled, width := 0, 0, 0
	for _, p := range all {
		switch quiet := p.Well() && !o.Wide; {
		case quiet && p.State == "DISABLED":
			disabled++
		case quiet && reasonOf(p) == "":
			well++
		default:
			shown = append(shown, p)
			width = max(width, len(p.Name))
		}
	}
	for _, p := range shown {
		since := ""
		if !p.Well() {
			since = " for " + output.Age(o.Now(), sinceOf(p))
		}
		text := o.PaintState(p.State) + since + oneLine(reasonOf(p))
		if by := effectOf(p); by != "" {
			text += "\ncaused by " + by
		}
		o.WriteField(b, fmt.Sprintf("    %-*s ", width+1, p.Name+":"), text)
	}
	var others []string
	if well > 0 {
		others = append(others, fmt.Sprintf("%d %s", well, o.PaintState("OK")))
	}
	if disabled > 0 {
		others = append(others, fmt.Sprintf("%d disabled", disabled))
	}
	if len(others) > 0 {
		o.WriteField(b, "    others: ", strings.Join(others, ", ")+" (agentctl status -o wide lists them)")
	}
}

// writeSummary writes the number of items by state, and the worst values.
func writeSummary(f *cmdutil.Factory, b *strings.Builder, sum *response.Summary) {
	if sum.Values == 0 {
		b.WriteString("    none\n")
		return
	}
	counts := maps.Clone(sum.Items)
	if len(counts) > 1 && !f.Wide {
		delete(counts, "OBTAINED") // what the agent has found is no news
	}
	states := slices.SortedFunc(maps.Keys(counts), func(x, y string) int {
		return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y))
	})
	for i, state := range states {
		states[i] = fmt.Sprintf("%d %s", counts[state], f.PaintState(state))
	}
	text := strings.Join(states, ", ")
	if f.Wide {
		text += fmt.Sprintf(" (%d values)", sum.Values)
	}
	f.WriteField(b, "    ", text)
	for _, v := range sum.Troubles {
		f.WriteField(b, "    "+f.PaintState(v.State)+" ", f.Models.ShortKey(v.Key)+": "+oneLine(f.Models.ShortText(v.Reason)))
	}
	if sum.Omitted > 0 {
		fmt.Fprintf(b, "    and %d more that are not in effect; see agentctl values\n", sum.Omitted)
	}
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

// statusData is what "status" knows, under the names that programs expect.
type statusData struct {
	Status  client.Status
	Version client.Version
	Queue   *api.QueueStatus  // of the scheduler; nil: an older agent
	Values  *response.Summary `json:",omitempty"` // nil: an older agent
	// Simulated lists the southbounds that are simulated: "vpp", "linux".
	Simulated []string `json:",omitempty"`
}

// worstShown is how many values that are not in effect "status" names.
const worstShown = 3

// statusPoll is the pause between two questions of "status --wait".
const statusPoll = 200 * time.Millisecond

func (a *app) statusCommand() *cobra.Command {
	var wait bool
	cmd := asInLigato(a.formatted(&cobra.Command{
		Use:   "status",
		Short: "Show the state of the agent and of its plugins",
		Long: "Shows the state of the agent and of its plugins. The exit code is 1, and the reason\n" +
			"is printed, if the agent is not ready. An agent with values that failed is DEGRADED and ready, unless\n" +
			"ready-despite in probe.conf says otherwise.\n\n" +
			"With -o json or yaml, Status.state and the states in plugins and PluginStatus are numbers, which scripts\n" +
			"for Ligato expect: 0 is INIT, 1 OK, 2 ERROR or DEGRADED. Status.health has all of them by name.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.status(cmd.Context(), wait) },
	}))
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "wait until the agent is ready, for --timeout at most")
	return cmd
}

func (a *app) status(ctx context.Context, wait bool) error {
	ask := a.askStatus
	if wait {
		ask = a.awaitReady
	}
	data, ready, err := ask(ctx)
	if err != nil {
		return err
	}
	if err = show(a, data, a.printStatus); err == nil && !ready {
		err = fmt.Errorf("the agent is not ready: %s", strings.Join(troubles(data.Status), "; "))
	}
	return err
}

func (a *app) askStatus(ctx context.Context) (data statusData, ready bool, err error) {
	if data.Status, ready, err = a.client.Status(ctx); err != nil {
		return data, false, err
	}
	if data.Version, err = a.client.Version(ctx); err != nil {
		return data, ready, err
	}
	data.Simulated, _ = a.client.Simulated(ctx) // an agent without VPP does not report it
	queue, err := a.client.Queue(ctx)
	if notServed(err) { // an older agent
		return data, ready, nil
	}
	data.Queue = &queue
	if sum, serr := a.client.Summary(ctx, worstShown); serr == nil { // an older agent has none
		data.Values = &sum
	}
	return data, ready, err
}

// awaitReady asks again and again; when the time is over, the last answer counts.
func (a *app) awaitReady(ctx context.Context) (data statusData, ready bool, err error) {
	bound, cancel := a.bounded(ctx)
	defer cancel()
	tick := time.NewTicker(statusPoll)
	defer tick.Stop()
	for {
		data, ready, err = a.askStatus(ctx)
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

// troubles says why the agent is not ready, causes rather than effects.
func troubles(s client.Status) (list []string) {
	ignored := slices.Concat(s.NonFatalPlugins, s.ReadyDespite)
	for _, p := range s.Health.Plugins {
		p.CausedBy = slices.DeleteFunc(slices.Clone(p.CausedBy), func(cause string) bool {
			return !slices.ContainsFunc(s.Health.Plugins, func(o client.HealthState) bool { return o.Name == cause && blocks(o, o.Name, ignored) })
		})
		if blocks(p, p.Name, ignored) && effectOf(p) == "" {
			p.Parts = slices.DeleteFunc(slices.Clone(p.Parts), func(part client.HealthState) bool { return !blocks(part, p.Name+"/"+part.Name, ignored) })
			list = append(list, p.Name+" is "+p.State+oneLine(reasonOf(p)))
		}
	}
	if len(list) == 0 {
		list = append(list, "it is starting or stopping")
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

// reasonOf is ": reason: error" of a plugin, or that of its first part which is
// not well.
func reasonOf(p client.HealthState) string {
	said := slices.DeleteFunc([]string{p.Reason, p.Error}, func(s string) bool { return s == "" })
	if len(said) > 0 {
		return ": " + strings.Join(said, ": ")
	}
	for _, part := range p.Parts {
		if !part.Well() {
			return ": " + part.Name + reasonOf(part)
		}
	}
	return ""
}

// sinceOf is since when what reasonOf tells is so.
func sinceOf(p client.HealthState) time.Time {
	if p.Reason != "" || p.Error != "" {
		return p.Since
	}
	for _, part := range p.Parts {
		if !part.Well() {
			return sinceOf(part)
		}
	}
	return p.Since
}

// oneLine puts joined errors into a line.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "; ") }

func (a *app) printStatus(d statusData) error {
	var b strings.Builder
	s, v, now := d.Status, d.Version, a.now()
	line := func(name, value string) { a.writeField(&b, fmt.Sprintf("    %-13s", name+":"), value) }
	b.WriteString("AGENT\n")
	line("App name", v.App)
	line("Version", v.Version)
	b.WriteString("\n")
	line("State", a.paintState(s.Health.State))
	line("Started", fmt.Sprintf("%s (%s ago)", s.Health.Started.UTC().Format(time.DateTime+" MST"), age(now, s.Health.Started)))
	line("Last change", age(now, s.Health.LastChange)+" ago")
	if len(d.Simulated) > 0 {
		line("Simulated", strings.Join(d.Simulated, ", ")+" ("+simulationNote(d.Simulated)+")")
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
		a.writeQueue(&b, d.Queue)
	}
	if d.Values != nil {
		b.WriteString("\nVALUES\n")
		a.writeSummary(&b, d.Values)
	}
	b.WriteString("\nPLUGINS\n")
	a.writePlugins(&b, s.Health.Plugins)
	return a.print(b.String())
}

// writePlugins writes the plugins that are not OK or say more than that, with -o wide all.
func (a *app) writePlugins(b *strings.Builder, all []client.HealthState) {
	var shown []client.HealthState
	well, disabled, width := 0, 0, 0
	for _, p := range all {
		switch quiet := p.Well() && !a.wide; {
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
			since = " for " + age(a.now(), sinceOf(p))
		}
		text := a.paintState(p.State) + since + oneLine(reasonOf(p))
		if by := effectOf(p); by != "" {
			text += "\ncaused by " + by
		}
		a.writeField(b, fmt.Sprintf("    %-*s ", width+1, p.Name+":"), text)
	}
	var others []string
	if well > 0 {
		others = append(others, fmt.Sprintf("%d %s", well, a.paintState("OK")))
	}
	if disabled > 0 {
		others = append(others, fmt.Sprintf("%d disabled", disabled))
	}
	if len(others) > 0 {
		a.writeField(b, "    others: ", strings.Join(others, ", ")+" (agentctl status -o wide lists them)")
	}
}

// writeSummary writes the number of values by state, and the worst values.
func (a *app) writeSummary(b *strings.Builder, sum *response.Summary) {
	if sum.Values == 0 {
		b.WriteString("    none\n")
		return
	}
	states := slices.SortedFunc(maps.Keys(sum.States), func(x, y string) int {
		return cmp.Or(cmp.Compare(sum.States[y], sum.States[x]), cmp.Compare(x, y))
	})
	for i, state := range states {
		states[i] = fmt.Sprintf("%d %s", sum.States[state], a.paintState(state))
	}
	a.writeField(b, "    ", strings.Join(states, ", "))
	for _, v := range sum.Troubles {
		a.writeField(b, "    "+a.paintState(v.State)+" ", a.shortKey(v.Key)+": "+oneLine(a.shortText(v.Reason)))
	}
	if sum.Omitted > 0 {
		fmt.Fprintf(b, "    and %d more that are not in effect; see agentctl values\n", sum.Omitted)
	}
}

// age is how long ago t was, in words that suit its size.
func age(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return "never"
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// versionData is what "version" knows; Error is why there is no Agent.
type versionData struct {
	Agentctl string          `json:"agentctl"`
	Agent    *client.Version `json:"agent,omitempty"`
	Error    string          `json:"error,omitempty"`
}

func (a *app) versionCommand() *cobra.Command {
	return a.formatted(&cobra.Command{
		Use: "version", Short: "Show the versions of agentctl and of the agent", Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			data := versionData{Agentctl: cmd.Root().Version}
			v, err := a.client.Version(cmd.Context())
			if data.Agent = &v; err != nil {
				data.Agent, data.Error = nil, err.Error()
			}
			return errors.Join(show(a, data, a.printVersion), err)
		},
	})
}

func (a *app) printVersion(d versionData) error {
	text := "agentctl  " + d.Agentctl + "\n"
	if v := d.Agent; v != nil {
		text += fmt.Sprintf("%-9s %s (%s, %s/%s)\n", v.App, v.Version, v.GoVersion, v.OS, v.Arch)
	}
	return a.print(text)
}

// Package fleet has the commands that configure many agents as one network.
package fleet

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/render"
	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/custommodel"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// New returns the command "fleet".
func New(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.OnTargets(cmdutil.Parent("fleet", "Configure many agents as one network",
		newInit(f), newRender(f), newPlan(f), newRehearse(f), newApply(f), newRun(f), newUndo(f),
		newAgents(f), newLabel(f), newSet(f), newMaintenance(f), newForget(f),
		newStatus(f), newWhy(f), newHistory(f), newDiff(f), newDrift(f), newRollouts(f), newShow(f), newPause(f), newResume(f), newAbort(f), newApprove(f), newTrust(f)), cmdutil.NoTarget)
}

type renderOptions struct {
	*cmdutil.Factory
	paths                       []string
	selector, agent             string
	allocations, outDir, models string
	format                      string
	codec                       *document.Codec
}

func newRender(f *cmdutil.Factory) *cobra.Command {
	o := &renderOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "render [-f] DIR|FILE...",
		Short: "Print the configuration of each agent, without asking any",
		Long: "Reads objects of a fleet, Agents, NetworkConfigs and Pools, from files and from the *.yaml, *.yml and *.json\n" +
			"files of directories, and prints the configuration that each agent gets from them. It asks no agent and no store.\n\n" +
			"If anything is wrong, nothing is printed or written, all errors are reported, and the exit code is 1.\n" +
			"The output contains the secrets of the objects.\n\n" +
			"Pools give each agent a value. Without --allocations they are given from the beginning each time, in the order of the\n" +
			"names of the agents, so that they can change when agents are added. --allocations names a file that keeps\n" +
			"them, for example next to the objects in Git: the command reads it and adds new allocations. Agents that are not\n" +
			"selected get values, too.\n\n" +
			"--selector takes conditions as kubectl does, separated by commas: site=paris, role!=core, rack in (a,b),\n" +
			"rack notin (a,b), spare (the label exists), !old (it does not).\n\n" +
			"--out-dir writes a file LABEL.yaml for each agent, with the permissions of a secret. It replaces only files that this\n" +
			"command has written.\n\n" +
			"The concepts and all fields are in docs/fleet.md.",
		Example: "  agentctl fleet render -f net/\n  agentctl fleet render -f net/ --allocations net/allocations.yaml --out-dir rendered/\n" +
			"  agentctl fleet render -f net/ -l 'site=paris,role in (edge,core),!old'\n" +
			"  agentctl fleet render -f net/ --agent edge-1 | agentctl check -",
		Args: cmdutil.Args(cobra.ArbitraryArgs),
		RunE: o.run,
	}
	fs := cmd.Flags()
	fs.StringArrayVarP(&o.paths, "file", "f", nil, "`file` or directory with objects (\"-\" is the standard input); may be repeated")
	selectorFlag(cmd, &o.selector, "render only agents with these `labels`, such as site=paris,role!=core")
	fs.StringVar(&o.agent, "agent", "", "render only the agent with this `label`")
	fs.StringVar(&o.allocations, "allocations", "", "`file` that keeps the values of pools; it is created if it does not exist")
	fs.StringVar(&o.outDir, "out-dir", "", "write a file for each agent into this `directory`, instead of printing")
	fs.StringVar(&o.models, "models", "", "`file` with the models of an agent, as \"model export\" prints them")
	output.Flag(cmd, &o.format, "yaml", []string{"yaml", "json"}, "`format`: yaml or json")
	_ = cmd.RegisterFlagCompletionFunc("agent", o.completeAgents) // fails only for unknown flags
	_ = cmd.MarkFlagDirname("out-dir")
	return cmd
}

// selectorFlag adds -l for a selector, as kubectl has it. The flag --log-level, which all commands ignore, has
// the letter elsewhere: here it has none.
func selectorFlag(cmd *cobra.Command, selector *string, usage string) {
	fs := cmd.Flags()
	fs.String("log-level", "", "accepted for compatibility and ignored")
	_ = fs.MarkHidden("log-level") // fails only for unknown flags
	fs.StringVarP(selector, "selector", "l", "", usage)
}

// completeAgents completes the names of the agents in the files.
func (o *renderOptions) completeAgents(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var names []string
	paths := append(slices.Clone(o.paths), args...)
	if slices.Contains(paths, "-") { // the shell needs the standard input
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if sources, err := o.read(cmd, paths); err == nil {
		objects, _ := fleet.DecodeAll(sources)
		for _, a := range objects.Agents {
			names = append(names, a.Metadata.Name)
		}
	}
	return cmdutil.StartingWith(prefix, names...), cobra.ShellCompDirectiveNoFileComp
}

// read reads the files.
func (o *renderOptions) read(cmd *cobra.Command, paths []string) (sources []fleet.Source, err error) {
	var files []string
	for _, path := range paths {
		if path == "-" {
			files = append(files, path)
			continue
		}
		found, err := fleet.Find([]string{path}, o.isOutput)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	for _, file := range fleet.Unique(files) {
		text, err := cmdutil.ReadDocument(cmd, file)
		if err != nil {
			return nil, err
		}
		sources = append(sources, fleet.Source{File: file, Text: text})
	}
	return sources, nil
}

// isOutput reports whether a file of a directory with objects is one that the command writes.
func (o *renderOptions) isOutput(file string) bool {
	within := func(dir string) bool {
		rel, err := filepath.Rel(dir, file)
		return err == nil && filepath.IsLocal(rel)
	}
	return o.allocations != "" && filepath.Clean(o.allocations) == filepath.Clean(file) || o.outDir != "" && within(o.outDir)
}

func (o *renderOptions) run(cmd *cobra.Command, args []string) error {
	paths := append(o.paths, args...)
	switch {
	case len(paths) == 0:
		return exit.Usagef("expected a file or a directory with objects (-f DIR)")
	case o.format != "yaml" && o.format != "json":
		return exit.Usagef("--output: %q: expected yaml or json", o.format)
	case o.outDir != "" && o.format != "yaml":
		return exit.Usagef("--out-dir writes YAML only")
	}
	in, err := o.input(cmd, paths)
	if err != nil {
		return err
	}
	r := render.Render(in)
	for _, w := range r.Warnings {
		fmt.Fprintln(o.Err, "WARNING: "+w)
	}
	if len(r.Errs) > 0 {
		return o.refuse(asErrors(r.Errs))
	}
	set, err := o.collect(r)
	if err != nil {
		return err
	}
	if o.agent != "" && len(set.configurations) == 0 {
		return fmt.Errorf("%s has no configuration: no NetworkConfig gives it an item", o.agent)
	}
	if err := o.keep(r); err != nil {
		return err
	}
	if o.outDir != "" {
		err = o.writeFiles(set.configurations)
	} else {
		err = o.print(set.configurations)
	}
	if err == nil {
		o.summary(set)
	}
	return err
}

// objects reads the objects and the models.
func (o *renderOptions) objects(cmd *cobra.Command, paths []string) (in render.Input, err error) {
	models := allmodels.MustSet()
	if o.models != "" {
		if models, _, err = custommodel.ReadFile(o.models); err != nil {
			return in, fmt.Errorf("--models: %w", err)
		}
	}
	o.Models.Use(models)
	o.codec = document.New(models)
	in.Codec = o.codec
	sources, err := o.read(cmd, paths)
	if err != nil {
		return in, err
	}
	var errs []error
	if in.Objects, errs = fleet.DecodeAll(sources); len(errs) > 0 {
		return in, o.refuse(errs)
	}
	return in, nil
}

// input reads everything that rendering needs.
func (o *renderOptions) input(cmd *cobra.Command, paths []string) (in render.Input, err error) {
	if in, err = o.objects(cmd, paths); err != nil {
		return in, err
	}
	if in.Allocations, err = o.readAllocations(); err != nil {
		return in, err
	}
	in.Selected, err = o.selected(in.Agents)
	return in, err
}

// selected returns the function that selects agents.
func (o *renderOptions) selected(agents []fleet.Agent) (func(*fleet.Agent) bool, error) {
	s, err := fleet.ParseSelector(o.selector)
	if err != nil {
		return nil, exit.Usagef("--selector: %w", err)
	}
	selects := func(a *fleet.Agent) bool {
		return (o.agent == "" || o.agent == a.Metadata.Name) && s.Matches(a.Metadata.Labels)
	}
	var names []string
	for i := range agents {
		if selects(&agents[i]) {
			return selects, nil
		}
		names = append(names, agents[i].Metadata.Name)
	}
	switch {
	case len(agents) == 0:
		return nil, errors.New("there are no agents; expected objects of the kind Agent")
	case o.agent != "" && !slices.Contains(names, o.agent):
		hint := ""
		if near := suggest.Nearest(o.agent, names); near != "" {
			hint = "; did you mean " + near + "?"
		}
		return nil, fmt.Errorf("--agent: no agent %q%s", o.agent, hint)
	}
	return nil, fmt.Errorf("--selector: %s selects none of %s", s, effects.Count(len(agents), "agent"))
}

// configuration is the configuration of one agent.
type configuration struct {
	agent   string
	text    []byte
	origins map[string]string // short key -> NetworkConfig
}

// configurations has the configurations of all selected agents.
type configurations struct {
	configurations []configuration
	items          int
	fresh          int // allocations
	empty          []string
}

// collect renders all selected agents.
func (o *renderOptions) collect(r *render.Rendering) (*configurations, error) {
	set := &configurations{fresh: len(r.New)}
	var errs []*render.Error
	failed, agents := 0, 0
	for result := range r.Agents() {
		name := result.Agent.Metadata.Name
		agents++
		switch {
		case len(result.Errs) > 0:
			errs = append(errs, result.Errs...)
			failed++
		case len(result.Items) == 0:
			set.empty = append(set.empty, name)
		default:
			c, err := o.encode(name, result.Items)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			set.configurations = append(set.configurations, c)
			set.items += len(result.Items)
		}
	}
	if failed > 0 {
		o.report(grouped(errs))
		return nil, fmt.Errorf("%d of %s cannot be rendered; nothing was written", failed, effects.Count(agents, "agent"))
	}
	return set, nil
}

// refuse prints errors in objects and returns the verdict.
func (o *renderOptions) refuse(errs []error) error {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	o.report(texts)
	return fmt.Errorf("%s; nothing was written", effects.Count(len(errs), "error"))
}

func asErrors(list []*render.Error) (errs []error) {
	for _, e := range list {
		errs = append(errs, e)
	}
	return errs
}

// maxReported is the maximum number of errors that are printed.
const maxReported = 100

func (o *renderOptions) report(texts []string) {
	for _, text := range texts[:min(len(texts), maxReported)] {
		fmt.Fprintln(o.Err, text)
	}
	if more := len(texts) - maxReported; more > 0 {
		fmt.Fprintf(o.Err, "and %d more errors\n", more)
	}
}

// maxNames is the maximum number of agents that are named.
const maxNames = 3

// named names the first ones.
func named(names []string) string {
	if more := len(names) - maxNames; more > 1 {
		return strings.Join(names[:maxNames], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// grouped returns the texts of errors. Errors that several agents have are one, which names them.
func grouped(errs []*render.Error) (texts []string) {
	type group struct {
		first  *render.Error
		others []string
	}
	var groups []*group
	known := map[string]*group{}
	for _, e := range errs {
		id := strings.Join([]string{e.Config, e.Pool, e.Path, e.Msg, e.Position.String()}, "\x00")
		switch g := known[id]; {
		case g == nil:
			known[id] = &group{first: e}
			groups = append(groups, known[id])
		case e.Agent != g.first.Agent && !slices.Contains(g.others, e.Agent):
			g.others = append(g.others, e.Agent)
		}
	}
	for _, g := range groups {
		text := g.first.Error()
		if len(g.others) > 0 {
			text += "; the same for " + named(g.others)
		}
		texts = append(texts, text)
	}
	return texts
}

// summary prints what was done.
func (o *renderOptions) summary(set *configurations) {
	if len(set.empty) > 0 {
		fmt.Fprintf(o.Err, "WARNING: %s without configuration: %s\n", effects.Count(len(set.empty), "agent"), named(set.empty))
	}
	text := fmt.Sprintf("%s, %s", effects.Count(len(set.configurations), "agent"), effects.Count(set.items, "item"))
	switch {
	case set.fresh > 0 && o.allocations == "":
		fmt.Fprintf(o.Err, "NOTE: %s of pools can change when agents are added; --allocations FILE keeps them\n", effects.Count(set.fresh, "value"))
	case set.fresh > 0:
		text += fmt.Sprintf(", %s in %s", effects.Count(set.fresh, "new allocation"), o.allocations)
	}
	fmt.Fprintln(o.Err, text)
}

// names returns the NetworkConfigs that a configuration comes from.
func (c *configuration) names() []string {
	return slices.Compact(slices.Sorted(maps.Values(c.origins)))
}

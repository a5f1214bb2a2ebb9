// Package contexts has the commands for the contexts of the configuration file of agentctl.
package contexts

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// New returns the command "context".
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := cmdutil.Parent("context", "Show and choose the agents that agentctl talks to", newList(f), newUse(f), newSet(f), newDelete(f))
	cmd.Long = cmd.Short + ". A context is a name for the settings of one\n" +
		"agent in the configuration file (contexts); the other settings in the file apply to all agents.\n" +
		"--context or AGENTCTL_CONTEXT choose one for a command, \"context use\" for all later commands."
	cmd.PersistentPreRunE = f.Prepare // no agent is asked, and a wrong context can be changed
	return cmdutil.OnTargets(cmd, cmdutil.NoTarget)
}

type listOptions struct {
	*cmdutil.Factory
}

func newList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	return f.Formatted(&cobra.Command{
		Use: "list", Aliases: []string{"ls", "l"}, Short: "List the contexts", Args: cmdutil.Args(cobra.NoArgs),
		Example: "  agentctl context list",
		RunE:    o.run,
	})
}

func (o *listOptions) run(*cobra.Command, []string) error {
	cfg, _, err := o.ReadConfig()
	if err != nil {
		return err
	}
	t := output.NewTable("CURRENT", "NAME", "HOST", "HTTP PORT", "GRPC PORT", "LABEL")
	for _, name := range slices.Sorted(maps.Keys(cfg.Contexts)) {
		c, mark := cfg.Contexts[name], ""
		if name == cfg.CurrentContext {
			mark = "*"
		}
		t.Row(mark, name, c.Host, nonZero(c.HTTPPort), nonZero(c.GRPCPort), c.ServiceLabel)
	}
	names := slices.AppendSeq([]string{}, maps.Keys(cfg.Contexts))
	slices.Sort(names)
	return output.Show(o.Printer, names, func([]string) error {
		if len(names) == 0 {
			return o.Print("no contexts; 'agentctl context set NAME host=ADDRESS' adds one\n")
		}
		return t.Write(o.Printer)
	})
}

func nonZero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func newUse(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Choose the context of the commands that follow; \"\" for none", Args: cmdutil.Args(cobra.ExactArgs(1)),
		Example:           "  agentctl context use lab && agentctl status",
		ValidArgsFunction: completeContexts(f),
		RunE: func(_ *cobra.Command, args []string) error {
			return changeConfig(f, func(root *yaml.Node) error { return setField(root, "current-context", args[0]) })
		},
	}
}

type setOptions struct {
	*cmdutil.Factory
}

func newSet(f *cmdutil.Factory) *cobra.Command {
	o := &setOptions{Factory: f}
	return &cobra.Command{
		Use: "set NAME KEY=VALUE...", Short: "Add or change a context; KEY is one of the configuration file", Args: cmdutil.Args(cobra.MinimumNArgs(2)),
		Example:           "  agentctl context set lab host=10.0.0.7 http-port=9191 http-basic-auth='${env:LAB_USER}'\n  agentctl context set edge-1 host=https://edge-1:9191 http-tls.ca-file=$PWD/edge-1.crt",
		ValidArgsFunction: completeContexts(f),
		RunE:              o.run,
	}
}

func (o *setOptions) run(_ *cobra.Command, args []string) error {
	return changeConfig(o.Factory, func(root *yaml.Node) error {
		contexts := field(root, "contexts", yaml.MappingNode)
		for _, setting := range args[1:] {
			key, value, ok := strings.Cut(setting, "=")
			if !ok {
				return exit.Usagef("%q: expected KEY=VALUE", setting)
			}
			if err := setField(field(contexts, args[0], yaml.MappingNode), key, value); err != nil {
				return err
			}
		}
		return nil
	})
}

type deleteOptions struct {
	*cmdutil.Factory
}

func newDelete(f *cmdutil.Factory) *cobra.Command {
	o := &deleteOptions{Factory: f}
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a context", Args: cmdutil.Args(cobra.ExactArgs(1)), ValidArgsFunction: completeContexts(f),
		Example: "  agentctl context delete lab",
		RunE:    o.run,
	}
}

func (o *deleteOptions) run(_ *cobra.Command, args []string) error {
	return changeConfig(o.Factory, func(root *yaml.Node) error {
		contexts := field(root, "contexts", yaml.MappingNode)
		i := slices.IndexFunc(contexts.Content, func(n *yaml.Node) bool { return n.Value == args[0] })
		if i < 0 {
			return exit.Usagef("no context %q%s", args[0], cmdutil.Meant(args[0], namesIn(contexts)))
		}
		contexts.Content = slices.Delete(contexts.Content, i, i+2)
		if current := field(root, "current-context", yaml.ScalarNode); current.Value == args[0] {
			current.Value = ""
		}
		return nil
	})
}

// namesIn returns the names of the fields of a mapping.
func namesIn(n *yaml.Node) (names []string) {
	for i := 0; i < len(n.Content); i += 2 {
		names = append(names, n.Content[i].Value)
	}
	return names
}

// completeContexts completes the name of a context.
func completeContexts(f *cmdutil.Factory) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		cfg, _, err := f.ReadConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Sorted(maps.Keys(cfg.Contexts)), cobra.ShellCompDirectiveNoFileComp
	}
}

// changeConfig changes the configuration file, if it is valid afterwards; its comments stay.
func changeConfig(f *cmdutil.Factory, change func(root *yaml.Node) error) error {
	_, path, err := f.ReadConfig()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(doc.Content) == 0 {
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	if err := change(doc.Content[0]); err != nil {
		return err
	}
	changed, err := yaml.Marshal(&doc)
	if err != nil {
		return err
	}
	var cfg cmdutil.ConfigFile
	if err := config.Decode(changed, path, &cfg); err != nil {
		return err
	}
	if _, err := cfg.InContext(cfg.CurrentContext); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return cmdutil.WritePrivate(path, changed)
}

// field returns a field of a mapping, which is added if there is none.
func field(n *yaml.Node, name string, kind yaml.Kind) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	added := &yaml.Node{Kind: kind}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, added)
	return added
}

func setField(n *yaml.Node, name, value string) error {
	if outer, inner, ok := strings.Cut(name, "."); ok { // a key of a mapping, such as http-tls.ca-file
		return setField(field(n, outer, yaml.MappingNode), inner, value)
	}
	f := field(n, name, yaml.ScalarNode)
	if f.Kind != yaml.ScalarNode {
		return exit.Usagef("%s: expected a key with a single value; edit the file for others", name)
	}
	*f = yaml.Node{Kind: yaml.ScalarNode, Value: value}
	return nil
}

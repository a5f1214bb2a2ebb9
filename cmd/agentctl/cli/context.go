package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// inContext returns the settings of a context, and those of the file where it has none.
func (c fileConfig) inContext(name string) (connection, error) {
	if name == "" {
		return c.connection, nil
	}
	own, ok := c.Contexts[name]
	if !ok {
		known := slices.Sorted(maps.Keys(c.Contexts))
		hint := "'agentctl context set " + name + " host=ADDRESS' adds it"
		if near := suggest.Nearest(name, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return connection{}, usage("no context %q; %s", name, hint)
	}
	merged := c.connection
	into, from := reflect.ValueOf(&merged).Elem(), reflect.ValueOf(own)
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			into.Field(i).Set(from.Field(i))
		}
	}
	return merged, nil
}

func (a *app) contextCommand() *cobra.Command {
	cmd := parent("context", "Show and choose the agents that agentctl talks to", a.contextList(), a.contextUse(), a.contextSet(), a.contextDelete())
	cmd.Long = cmd.Short + ". A context is a name for the settings of one\n" +
		"agent in the configuration file (contexts), whose other settings are those of all agents. --context\n" +
		"or AGENTCTL_CONTEXT choose one for a command, \"context use\" for those that follow."
	cmd.PersistentPreRunE = a.fromEnvironment // no agent is asked, and a wrong context can be changed
	return cmd
}

func (a *app) contextList() *cobra.Command {
	return a.formatted(&cobra.Command{
		Use: "list", Aliases: []string{"ls", "l"}, Short: "List the contexts", Args: args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			cfg, _, err := a.readConfig()
			if err != nil {
				return err
			}
			t := newTable("CURRENT", "NAME", "HOST", "HTTP PORT", "GRPC PORT", "LABEL")
			for _, name := range slices.Sorted(maps.Keys(cfg.Contexts)) {
				c, mark := cfg.Contexts[name], ""
				if name == cfg.CurrentContext {
					mark = "*"
				}
				t.row(mark, name, c.Host, nonZero(c.HTTPPort), nonZero(c.GRPCPort), c.ServiceLabel)
			}
			names := slices.AppendSeq([]string{}, maps.Keys(cfg.Contexts))
			slices.Sort(names)
			return show(a, names, func([]string) error {
				if len(names) == 0 {
					return a.print("no contexts; 'agentctl context set NAME host=ADDRESS' adds one\n")
				}
				return t.write(a)
			})
		},
	})
}

func nonZero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func (a *app) contextUse() *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Choose the context of the commands that follow; \"\" for none", Args: args(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.changeConfig(func(root *yaml.Node) error { return setField(root, "current-context", args[0]) })
		},
	}
}

func (a *app) contextSet() *cobra.Command {
	return &cobra.Command{
		Use: "set NAME KEY=VALUE...", Short: "Add or change a context; KEY is one of the configuration file", Args: args(cobra.MinimumNArgs(2)),
		ValidArgsFunction: a.completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.changeConfig(func(root *yaml.Node) error {
				contexts := field(root, "contexts", yaml.MappingNode)
				for _, setting := range args[1:] {
					key, value, ok := strings.Cut(setting, "=")
					if !ok {
						return usage("%q: expected KEY=VALUE", setting)
					}
					if err := setField(field(contexts, args[0], yaml.MappingNode), key, value); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func (a *app) contextDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a context", Args: args(cobra.ExactArgs(1)), ValidArgsFunction: a.completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.changeConfig(func(root *yaml.Node) error {
				contexts := field(root, "contexts", yaml.MappingNode)
				i := slices.IndexFunc(contexts.Content, func(n *yaml.Node) bool { return n.Value == args[0] })
				if i < 0 {
					return usage("no context %q", args[0])
				}
				contexts.Content = slices.Delete(contexts.Content, i, i+2)
				if current := field(root, "current-context", yaml.ScalarNode); current.Value == args[0] {
					current.Value = ""
				}
				return nil
			})
		},
	}
}

func (a *app) completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	cfg, _, err := a.readConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(maps.Keys(cfg.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// changeConfig changes the configuration file, if it is valid afterwards; its comments stay.
func (a *app) changeConfig(change func(root *yaml.Node) error) error {
	_, path, err := a.readConfig()
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
	var cfg fileConfig
	if err := config.Decode(changed, path, &cfg); err != nil {
		return err
	}
	if _, err := cfg.inContext(cfg.CurrentContext); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return writePrivate(path, changed)
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
	f := field(n, name, yaml.ScalarNode)
	if f.Kind != yaml.ScalarNode {
		return usage("%s: expected a key with a single value; edit the file for others", name)
	}
	*f = yaml.Node{Kind: yaml.ScalarNode, Value: value}
	return nil
}

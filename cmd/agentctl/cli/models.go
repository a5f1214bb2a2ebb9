package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

func (a *app) modelCommand() *cobra.Command {
	cmd := parent("model", "Show the models of configuration items", a.modelList(), a.modelInspect(), a.modelSchema(), a.modelExport())
	cmd.Aliases = []string{"models"}
	return cmd
}

func (a *app) modelList() *cobra.Command {
	var class string
	cmd := asInLigato(a.formatted(&cobra.Command{
		Use: "list [PATTERN...]", Aliases: []string{"ls", "l"},
		Short: "List the models", Example: "  agentctl model list 'vpp.l2.*'",
		ValidArgsFunction: a.completeModels,
		RunE: func(_ *cobra.Command, patterns []string) error {
			found, err := a.selectModels(patterns)
			if err != nil {
				return err
			}
			if a.modelsErr != nil {
				fmt.Fprintf(a.Err, "These are the models of vpp-agent; those of the agent are unknown: %v\n", a.modelsErr)
			}
			infos := []response.Model{}
			for _, m := range found {
				if info := orchestrator.DescribeModel(m); class == "all" || class == info.Class {
					infos = append(infos, info)
				}
			}
			t := newTable("MODEL NAME", "CLASS", "PROTO MESSAGE", "KEY PREFIX")
			for _, i := range infos {
				t.row(i.Name, i.Class, i.ProtoName, i.KeyPrefix)
			}
			return show(a, infos, func([]response.Model) error { return t.write(a) })
		},
	}))
	cmd.Flags().StringVar(&class, "class", "config", "`class` of models: config, metrics or all")
	return cmd
}

func (a *app) modelInspect() *cobra.Command {
	return asInLigato(a.formatted(&cobra.Command{
		Use: "inspect MODEL...", Aliases: []string{"i"},
		Short: "Show models in detail", Args: args(cobra.MinimumNArgs(1)),
		ValidArgsFunction: a.completeModels,
		RunE: func(_ *cobra.Command, patterns []string) error {
			found, err := a.selectModels(patterns)
			if err != nil {
				return err
			}
			infos := make([]response.Model, len(found))
			for i, m := range found {
				infos[i] = orchestrator.DescribeModel(m)
			}
			return a.write(cmp.Or(a.format, "json"), infos)
		},
	}))
}

func (a *app) modelExport() *cobra.Command {
	return &cobra.Command{
		Use: "export", Args: args(cobra.NoArgs),
		Short: "Print the models of the agent with the schema of their messages, for \"check --models\"",
		Long: "Prints the models of the agent as JSON, with the descriptors of their messages. \"check --models\"\n" +
			"reads the output, so that files can be checked without the agent, for example in a pipeline.",
		Example: "  agentctl model export > models.json && agentctl check --models models.json net.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := a.client.Models(cmd.Context(), true)
			if err != nil {
				return err
			}
			return writeJSON(a.Out, all)
		},
	}
}

func (a *app) modelSchema() *cobra.Command {
	var fieldNames string
	cmd := verbatim(a.formatted(&cobra.Command{
		Use: "schema", Args: args(cobra.NoArgs),
		Short: "Print the JSON Schema of configuration files, for editors",
		Long: "Prints the JSON Schema of configuration files, with descriptions. Editors with a YAML language\n" +
			"server complete and check a file that names it in a comment:\n\n" +
			"  # yaml-language-server: $schema=vpp-agent.schema.json",
		Example: "  agentctl model schema > vpp-agent.schema.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			names, ok := map[string]document.FieldNames{
				"": document.BothNames, "onlyjson": document.JSONNames, "onlyproto": document.ProtoNames,
			}[fieldNames]
			if !ok {
				return usage("--fieldnames %q: expected onlyjson or onlyproto", fieldNames)
			}
			e, err := a.newExplainer(cmd.Context())
			if err != nil {
				return err
			}
			return a.write(cmp.Or(a.format, "json"), e.codec.DescribedSchema(names, e.comments.Of))
		},
	}))
	cmd.Flags().StringVar(&fieldNames, "fieldnames", "", "`names` of fields: onlyjson (ipAddresses), onlyproto (ip_addresses); default: both")
	return cmd
}

// selectModels returns the models whose names match one of the patterns; all
// models without patterns.
func (a *app) selectModels(patterns []string) ([]models.Known, error) {
	set := a.set()
	if len(patterns) == 0 {
		return set.All(), nil
	}
	matched := map[string]bool{}
	for _, pattern := range patterns {
		n := 0
		for _, m := range set.All() {
			name := m.Spec().ModelName()
			ok, err := path.Match(pattern, name)
			if err != nil {
				return nil, usage("%q: malformed pattern", pattern)
			}
			if ok || pattern == "all" {
				n++
				matched[name] = true
			}
		}
		if n == 0 {
			return nil, noModel(set, pattern)
		}
	}
	others := func(m models.Known) bool { return !matched[m.Spec().ModelName()] }
	return slices.DeleteFunc(slices.Clone(set.All()), others), nil
}

// noModelError is the error for the name of a model that does not exist.
type noModelError struct{ error }

func noModel(set *models.Set, name string) error {
	if near := suggest.Nearest(name, modelNames(set)); near != "" {
		return noModelError{fmt.Errorf("no model %q, did you mean %q?", name, near)}
	}
	return noModelError{fmt.Errorf("no model %q; 'agentctl model list' has their names", name)}
}

func modelNames(set *models.Set) (names []string) {
	for _, m := range set.All() {
		names = append(names, m.Spec().ModelName())
	}
	return names
}

func (a *app) completeModels(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if a.connect(cmd, nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := slices.DeleteFunc(modelNames(a.set()), func(name string) bool { return !strings.HasPrefix(name, prefix) })
	return names, cobra.ShellCompDirectiveNoFileComp
}

// nameOf splits a key into the names of its model and its item. Keys of values
// without a model and of singletons are not split.
func (a *app) nameOf(key string) (model, name string) {
	m, ok := a.set().ForKey(key)
	if !ok {
		return "", key
	}
	return m.Spec().ModelName(), m.Label(key)
}

// indented returns JSON as YAML-like text for a table cell.
func indented(data json.RawMessage) string {
	if len(data) == 0 || string(data) == "null" {
		return ""
	}
	text, err := rendered(writeYAML, data)
	if err != nil {
		return string(data)
	}
	return text
}

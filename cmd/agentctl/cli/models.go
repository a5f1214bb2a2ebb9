package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
)

// modelInfo describes a model.
type modelInfo struct {
	Name         string
	Class        string
	Module       string
	Type         string
	Version      string
	KeyPrefix    string
	NameTemplate string `json:",omitempty"`
	ProtoName    string
	ProtoFile    string
}

func describe(m models.Known) modelInfo {
	spec := m.Spec()
	return modelInfo{
		Name: spec.ModelName(), Class: spec.Class, Module: spec.Module, Type: spec.Type, Version: spec.Version,
		KeyPrefix: m.KeyPrefix(), NameTemplate: allmodels.NameTemplate(spec.ModelName()),
		ProtoName: string(m.ProtoName()),
		ProtoFile: m.NewInstance().ProtoReflect().Descriptor().ParentFile().Path(),
	}
}

func (a *app) modelCommand() *cobra.Command {
	cmd := parent("model", "Show the models of configuration items", a.modelList(), a.modelInspect())
	cmd.Aliases = []string{"models"}
	return cmd
}

func (a *app) modelList() *cobra.Command {
	var class string
	cmd := &cobra.Command{
		Use: "list [PATTERN...]", Aliases: []string{"ls", "l"},
		Short: "List the models", Example: "  agentctl model list 'vpp.l2.*'",
		ValidArgsFunction: completeModels,
		RunE: func(_ *cobra.Command, patterns []string) error {
			found, err := selectModels(patterns)
			if err != nil {
				return err
			}
			infos := []modelInfo{}
			for _, m := range found {
				if info := describe(m); class == "all" || class == info.Class {
					infos = append(infos, info)
				}
			}
			if a.format != "" {
				return a.write(a.format, infos)
			}
			t := newTable("MODEL NAME", "CLASS", "PROTO MESSAGE", "KEY PREFIX")
			for _, i := range infos {
				t.row(i.Name, i.Class, i.ProtoName, i.KeyPrefix)
			}
			return t.write(a)
		},
	}
	a.formatFlag(cmd)
	cmd.Flags().StringVar(&class, "class", "config", "`class` of models: config, metrics or all")
	return cmd
}

func (a *app) modelInspect() *cobra.Command {
	cmd := &cobra.Command{
		Use: "inspect MODEL...", Aliases: []string{"i"},
		Short: "Show models in detail", Args: args(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeModels,
		RunE: func(_ *cobra.Command, patterns []string) error {
			found, err := selectModels(patterns)
			if err != nil {
				return err
			}
			infos := make([]modelInfo, len(found))
			for i, m := range found {
				infos[i] = describe(m)
			}
			return a.write(cmp.Or(a.format, "json"), infos)
		},
	}
	a.formatFlag(cmd)
	return cmd
}

// selectModels returns the models whose names match one of the patterns; all
// models without patterns.
func selectModels(patterns []string) ([]models.Known, error) {
	set := allmodels.MustSet()
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
			return nil, fmt.Errorf("no model %q; 'agentctl model list' has their names", pattern)
		}
	}
	var found []models.Known
	for _, m := range set.All() {
		if matched[m.Spec().ModelName()] {
			found = append(found, m)
		}
	}
	return found, nil
}

func completeModels(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	all, err := selectModels(nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, m := range all {
		if name := m.Spec().ModelName(); strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// nameOf splits a key into the names of its model and its item. Keys of values
// without a model and of singletons are not split.
func nameOf(key string) (model, name string) {
	m, ok := allmodels.MustSet().ForKey(key)
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

// Package model has the commands that describe models: their list, their fields, samples and schemas;
// and the one that writes an agent with a new model.
package model

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// New returns the command "model".
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := cmdutil.Parent("model", "Show the models of configuration items, and write agents with new ones",
		newList(f), newInspect(f), newSchema(f), newExport(f), newNew(f))
	cmd.Aliases = []string{"models"}
	return cmd
}

type listOptions struct {
	*cmdutil.Factory
	class string
}

func newList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	cmd := output.AsInLigato(f.Formatted(&cobra.Command{
		Use: "list [PATTERN...]", Aliases: []string{"ls", "l"},
		Short: "List the models", Example: "  agentctl model list 'vpp.l2.*'",
		ValidArgsFunction: f.CompleteModels,
		RunE:              o.run,
	}))
	cmd.Flags().StringVar(&o.class, "class", "config", "`class` of models: config, metrics or all")
	return cmd
}

func (o *listOptions) run(_ *cobra.Command, patterns []string) error {
	found, err := o.Models.Select(patterns)
	if err != nil {
		return err
	}
	if o.Models.Err() != nil {
		fmt.Fprintf(o.Err, "These are the models of vpp-agent; the models of this agent are unknown: %v\n", o.Models.Err())
	}
	infos := []response.Model{}
	for _, m := range found {
		if info := orchestrator.DescribeModel(m); o.class == "all" || o.class == info.Class {
			infos = append(infos, info)
		}
	}
	t := output.NewTable("MODEL NAME", "CLASS", "PROTO MESSAGE", "KEY PREFIX")
	for _, i := range infos {
		t.Row(i.Name, i.Class, i.ProtoName, i.KeyPrefix)
	}
	return output.Show(o.Printer, infos, func([]response.Model) error { return t.Write(o.Printer) })
}

type inspectOptions struct {
	*cmdutil.Factory
}

func newInspect(f *cmdutil.Factory) *cobra.Command {
	o := &inspectOptions{Factory: f}
	return output.AsInLigato(f.Formatted(&cobra.Command{
		Use: "inspect MODEL...", Aliases: []string{"i"},
		Example: "  agentctl model inspect vpp.interfaces",
		Short:   "Show models in detail", Args: cmdutil.Args(cobra.MinimumNArgs(1)),
		ValidArgsFunction: f.CompleteModels,
		RunE:              o.run,
	}))
}

func (o *inspectOptions) run(_ *cobra.Command, patterns []string) error {
	found, err := o.Models.Select(patterns)
	if err != nil {
		return err
	}
	infos := make([]response.Model, len(found))
	for i, m := range found {
		infos[i] = orchestrator.DescribeModel(m)
	}
	return o.Write(cmp.Or(o.Format, "json"), infos)
}

func newExport(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "export", Args: cmdutil.Args(cobra.NoArgs),
		Short: "Print the models of the agent with the schema of their messages, for \"check --models\"",
		Long: "Prints the models of the agent as JSON, with the descriptors of their messages. \"check --models\"\n" +
			"reads the output, so that files can be checked without the agent, for example in a pipeline.",
		Example: "  agentctl model export > models.json && agentctl check --models models.json net.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := f.Client.Agent.Models(cmd.Context(), true)
			if err != nil {
				return err
			}
			return output.WriteJSON(f.Out, all)
		},
	}
}

type schemaOptions struct {
	*cmdutil.Factory
	fieldNames string
}

func newSchema(f *cmdutil.Factory) *cobra.Command {
	o := &schemaOptions{Factory: f}
	cmd := output.Verbatim(f.Formatted(&cobra.Command{
		Use: "schema", Args: cmdutil.Args(cobra.NoArgs),
		Short: "Print the JSON Schema of configuration files, for editors",
		Long: "Prints the JSON Schema of configuration files, with descriptions. Editors with a YAML language\n" +
			"server complete and check a file that names it in a comment:\n\n" +
			"  # yaml-language-server: $schema=vpp-agent.schema.json",
		Example: "  agentctl model schema > vpp-agent.schema.json",
		RunE:    o.run,
	}))
	cmd.Flags().StringVar(&o.fieldNames, "fieldnames", "", "`names` of fields: onlyjson (ipAddresses), onlyproto (ip_addresses); default: both")
	return cmd
}

func (o *schemaOptions) run(cmd *cobra.Command, _ []string) error {
	names, ok := map[string]document.FieldNames{
		"": document.BothNames, "onlyjson": document.JSONNames, "onlyproto": document.ProtoNames,
	}[o.fieldNames]
	if !ok {
		return exit.Usagef("--fieldnames %q: expected onlyjson or onlyproto", o.fieldNames)
	}
	e, err := newExplainer(cmd.Context(), o.Factory)
	if err != nil {
		return err
	}
	return o.Write(cmp.Or(o.Format, "json"), e.codec.DescribedSchema(names, e.comments.Of))
}

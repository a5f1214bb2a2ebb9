// Package topology has the command that draws the network.
package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/topology/response"
)

type options struct {
	*cmdutil.Factory
	query client.TopologyQuery
}

// New returns the command "topology".
func New(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := f.Formatted(&cobra.Command{
		Use:   "topology [ITEM]",
		Short: "Show the network: interfaces, bridge domains, VRFs and what links them",
		Long: "Shows VPP and the network namespaces of Linux with their interfaces, bridge domains, VRFs\n" +
			"and bonds, and the cables, tunnels and memberships that link them, each with its state:\n\n" +
			"  up       it exists, and the link is up\n" +
			"  down     it exists, and the link is down or not enabled\n" +
			"  waiting  it waits for something that does not exist\n" +
			"  missing  something refers to it, and it is not configured\n" +
			"  failed   it could not be created or changed, or it is invalid\n\n" +
			"With an item, MODEL/NAME, only this one with its neighbours. -o dot is for Graphviz, -o\n" +
			"mermaid for Markdown.",
		Example:           "  agentctl topology\n  agentctl topology vpp.l2.bridge-domain/bd1\n  agentctl topology -o dot | dot -Tsvg > network.svg",
		Args:              cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: o.complete,
		RunE:              o.run,
	}, "dot", "mermaid")
	cmd.Flags().StringVar(&o.query.Contains, "contains", "", "only what has this `text` in its name or an address, with its neighbours")
	cmd.Flags().IntVar(&o.query.Limit, "limit", 0, "group the nodes if there are more than this `number`; 0 disables it")
	return cmd
}

// complete completes the names of items that are nodes.
func (o *options) complete(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || o.Connect(cmd, nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	n, err := o.Client.Scheduler.Topology(cmd.Context(), client.TopologyQuery{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, node := range n.Value.Nodes {
		if len(node.Items) > 0 {
			names = append(names, node.ID)
		}
	}
	return cmdutil.StartingWith(prefix, names...), cobra.ShellCompDirectiveNoFileComp
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	if o.query.Limit < 0 {
		return exit.Usagef("--limit: %d: expected a number of nodes, or 0", o.query.Limit)
	}
	if len(args) > 0 {
		o.query.Item = args[0]
	}
	n, err := o.Client.Scheduler.Topology(cmd.Context(), o.query)
	if err != nil {
		return err
	}
	switch strings.ToLower(o.Format) {
	case "dot":
		return o.Print(dot(n.Value))
	case "mermaid":
		return o.Print(mermaid(n.Value))
	case "name":
		return o.printNames(n.Value)
	}
	return output.ShowAnswer(o.Printer, n, o.print)
}

// printNames prints the items that are nodes.
func (o *options) printNames(n response.Network) error {
	var names []string
	for _, node := range n.Nodes {
		for _, item := range node.Items {
			names = append(names, item.Name+"\n")
		}
	}
	return o.Print(strings.Join(names, ""))
}

// print prints a table with a row for each node.
func (o *options) print(n response.Network) error {
	if len(n.Nodes) == 0 {
		return o.Print("No interfaces.\n")
	}
	boxes := map[string]string{}
	for _, b := range n.Boxes {
		boxes[b.ID] = b.Label
	}
	links := linksOf(n)
	t := output.NewTable("WHERE", "NODE", "KIND", "STATE", "LINKS", "REASON")
	for _, node := range inBoxes(n) {
		t.Row(boxes[node.Box], nameOf(node), kindOf(node), o.paint(node), strings.Join(links[node.ID], "\n"), o.Models.ShortText(node.Reason))
	}
	if err := t.Write(o.Printer); err != nil {
		return err
	}
	if text := n.Simulation(); text != "" {
		return o.Print(text + "\n")
	}
	return nil
}

// nameOf returns what the user calls a node: its item, or what it is.
func nameOf(n response.Node) string {
	if n.Count > 0 || len(n.Items) == 0 && n.State != response.Missing {
		return n.Label
	}
	return n.ID
}

// kindOf returns the kind of a node, for an interface its type.
func kindOf(n response.Node) string {
	if n.Kind == response.Interface && n.Type != "" {
		return n.Type
	}
	return n.Kind
}

var colours = map[string]output.Colour{
	response.Up: output.Green, response.Down: output.Yellow, response.Waiting: output.Yellow, response.Missing: output.Red, response.Failed: output.Red,
}

// paint returns the state of a node, or the states in a group.
func (o *options) paint(n response.Node) string {
	if n.Count == 0 {
		return o.Paint(colours[n.State], n.State)
	}
	var states []string
	for _, state := range response.States {
		if count := n.States[state]; count > 0 {
			states = append(states, o.Paint(colours[state], fmt.Sprintf("%d %s", count, state)))
		}
	}
	return strings.Join(states, "\n")
}

// inBoxes returns the nodes in the order of the boxes; those outside of the host are last.
func inBoxes(n response.Network) (list []response.Node) {
	order := map[string]int{"": len(n.Boxes)}
	for i, b := range n.Boxes {
		order[b.ID] = i
	}
	list = slices.Clone(n.Nodes)
	slices.SortStableFunc(list, func(a, b response.Node) int { return order[a.Box] - order[b.Box] })
	return list
}

// linksOf describes the links by the nodes that they begin at, and for cables also at the other
// end.
func linksOf(n response.Network) map[string][]string {
	labels := map[string]string{}
	for _, node := range n.Nodes {
		labels[node.ID] = node.Label
	}
	links := map[string][]string{}
	for _, l := range n.Links {
		links[l.From] = append(links[l.From], describe(l, labels[l.To]))
		if l.Kind == response.Cable {
			links[l.To] = append(links[l.To], describe(l, labels[l.From]))
		}
	}
	return links
}

// words say what a link of a kind is, before the name of its other end.
var words = map[string]string{
	response.Member: "port of", response.InVRF: "in", response.SubInterface: "part of", response.Over: "over", response.Cable: "cable to",
	response.Tunnel: "tunnel to", response.Unnumbered: "address of", response.CrossConnect: "sends to", response.Mirror: "mirrored to",
}

// describe returns a link as text, with its state unless it is up.
func describe(l response.Link, to string) string {
	text := words[l.Kind] + " " + to
	if l.Count > 1 {
		text += fmt.Sprintf(" (%d times)", l.Count)
	}
	if l.State != response.Up {
		text += ", " + l.State
	}
	return text
}

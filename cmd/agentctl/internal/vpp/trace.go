package vpp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
)

// inputNodes are the nodes at which packets enter VPP from a device. A node that VPP
// does not have is left out, so the list may name more than a VPP has.
var inputNodes = []string{
	"af-packet-input", "af_xdp-input", "avf-input", "bond-input", "dpdk-input", "host-stack-input",
	"memif-input", "pg-input", "rdma-input", "vhost-user-input", "virtio-input", "vmxnet3-input",
}

// tracePoll is how often a running trace or capture is looked at.
const tracePoll = 250 * time.Millisecond

type traceOptions struct {
	nodes []string
	count int
	wait  time.Duration
	match string
	paths bool
}

type traceCommand struct {
	*cmdutil.Factory
	flags traceOptions
}

func newTrace(f *cmdutil.Factory) *cobra.Command {
	o := &traceCommand{Factory: f}
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Trace packets through the nodes of VPP",
		Long: "Traces the next packets that enter VPP, and prints by which nodes each went. It ends when\n" +
			"--count packets are there, after --for, or with Ctrl-C. VPP has one trace: what an\n" +
			"earlier one recorded is cleared.",
		Example: "  agentctl vpp trace\n  agentctl vpp trace --paths --match 10.0.0.7\n" +
			"  agentctl vpp trace --node memif-input --count 200 --match error-drop --for 1m",
		Args: cmdutil.Args(cobra.NoArgs),
		RunE: o.run,
	}
	cmd.Flags().StringArrayVar(&o.flags.nodes, "node", nil, "input `node` to trace at (default: the input nodes of all devices)")
	cmd.Flags().IntVarP(&o.flags.count, "count", "c", 50, "`number` of packets to print")
	cmd.Flags().DurationVar(&o.flags.wait, "for", 10*time.Second, "end after this `time`")
	cmd.Flags().StringVar(&o.flags.match, "match", "", "print only packets whose trace has this `text`, such as an address or a node")
	cmd.Flags().BoolVar(&o.flags.paths, "paths", false, "print one line per packet: the nodes it went through")
	return cmd
}

func (o *traceCommand) run(cmd *cobra.Command, _ []string) error {
	if err := cmp.Or(positive("--count", o.flags.count), positive("--for", int(o.flags.wait))); err != nil {
		return err
	}
	return o.trace(cmd.Context(), o.flags)
}

func positive(flag string, n int) error {
	if n <= 0 {
		return exit.Usagef("%s: expected more than 0", flag)
	}
	return nil
}

// trace records packets until there are enough, the time is over or the user has seen
// enough, and prints them.
func (opts *traceCommand) trace(ctx context.Context, o traceOptions) error {
	recorded := o.count
	if o.match != "" {
		recorded = max(recorded, 5000) // most of them may not match
	}
	if err := opts.startTrace(ctx, o.nodes, recorded); err != nil {
		return err
	}
	var all, wanted []string
	err := poll(ctx, o.wait, func(ctx context.Context) (done bool, err error) {
		text, err := opts.Client.VPP.Command(ctx, fmt.Sprintf("show trace max %d", recorded))
		if err != nil {
			return false, err
		}
		all, wanted = tracedPackets(text), nil
		for _, packet := range all {
			if strings.Contains(packet, o.match) && len(wanted) < o.count {
				wanted = append(wanted, packet)
			}
		}
		return len(wanted) >= o.count || len(all) >= recorded, nil
	})
	_, stopped := opts.Client.VPP.Command(context.WithoutCancel(ctx), "clear trace")
	if err = errors.Join(err, stopped); err != nil {
		return err
	}
	for _, packet := range wanted {
		if o.paths {
			packet = packetPath(packet)
		}
		fmt.Fprintln(opts.Out, packet)
	}
	summary := fmt.Sprintf("%d packets", len(wanted))
	if o.match != "" {
		summary = fmt.Sprintf("%d of %d packets have %q", len(wanted), len(all), o.match)
	}
	_, err = fmt.Fprintln(opts.Err, summary)
	return err
}

// startTrace clears the trace of VPP and begins one at the nodes, or at all input
// nodes that VPP has.
func (o *traceCommand) startTrace(ctx context.Context, nodes []string, packets int) error {
	if _, err := o.Client.VPP.Command(ctx, "clear trace"); err != nil {
		return err
	}
	known := nodes
	if len(nodes) == 0 {
		known = inputNodes
	}
	started := false
	for _, node := range known {
		_, err := o.Client.VPP.Command(ctx, fmt.Sprintf("trace add %s %d", node, packets))
		switch {
		case err == nil:
			started = true
		case len(nodes) > 0 || !refusedByVPP(err):
			return err
		}
	}
	if !started {
		return errors.New("VPP has none of the input nodes that agentctl knows; name one with --node ('agentctl vpp cli show vlib graph' lists all)")
	}
	return nil
}

// refusedByVPP reports whether VPP answered a command with an error.
func refusedByVPP(err error) bool { return client.HasStatus(err, http.StatusBadGateway) }

// poll calls look until it says that it is done, the time is over or the context ends;
// the last look comes after that.
func poll(ctx context.Context, wait time.Duration, look func(context.Context) (done bool, err error)) error {
	over := time.NewTimer(wait)
	defer over.Stop()
	tick := time.NewTicker(tracePoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if done, err := look(ctx); (done || err != nil) && ctx.Err() == nil {
				return err
			}
		case <-over.C:
			_, err := look(ctx)
			return err
		case <-ctx.Done():
			_, err := look(context.WithoutCancel(ctx))
			return err
		}
	}
}

var (
	packetHeading = regexp.MustCompile(`(?m)^Packet \d+\r?\n`)
	threadHeading = regexp.MustCompile(`(?m)^-+ Start of thread .*\n`)
	limitNote     = regexp.MustCompile(`(?m)^Limiting display to .*\n?`)
	nodeHeading   = regexp.MustCompile(`^\d\d:\d\d:\d\d:\d+: (\S+)`)
	packetEnds    = regexp.MustCompile(`\b[A-Z0-9-]+: [0-9a-f.:]+ -> [0-9a-f.:]+`)
)

// tracedPackets returns the packets of "show trace", of all threads.
func tracedPackets(text string) (packets []string) {
	text = limitNote.ReplaceAllString(threadHeading.ReplaceAllString(text, "\n"), "")
	starts := packetHeading.FindAllStringIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		packets = append(packets, strings.TrimSpace(text[at[1]:end])+"\n")
	}
	return packets
}

// packetPath returns the nodes of a traced packet, and its source and destination when
// it entered VPP: the IP addresses, or else the Ethernet addresses.
func packetPath(packet string) string {
	var nodes []string
	for line := range strings.Lines(packet) {
		if m := nodeHeading.FindStringSubmatch(line); m != nil {
			nodes = append(nodes, m[1])
		}
	}
	path := strings.Join(nodes, " > ")
	ends := packetEnds.FindAllString(packet, -1)
	if len(ends) == 0 {
		return path
	}
	ofIP := slices.IndexFunc(ends, func(e string) bool { return !strings.HasPrefix(e, "IP4:") && !strings.HasPrefix(e, "IP6:") })
	return ends[max(ofIP, 0)] + "  " + path
}

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
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

func (a *app) vppTrace() *cobra.Command {
	o := traceOptions{}
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Trace packets through the nodes of VPP",
		Long: "Traces the next packets that enter VPP, and prints by which nodes each went. It ends when\n" +
			"--count packets are there, after --for, or with Ctrl-C. VPP has one trace: what an\n" +
			"earlier one recorded is cleared.",
		Example: "  agentctl vpp trace\n  agentctl vpp trace --paths --match 10.0.0.7\n" +
			"  agentctl vpp trace --node memif-input --count 200 --match error-drop --for 1m",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(positive("--count", o.count), positive("--for", int(o.wait))); err != nil {
				return err
			}
			return a.trace(cmd.Context(), o)
		},
	}
	cmd.Flags().StringArrayVar(&o.nodes, "node", nil, "input `node` to trace at (default those of all devices)")
	cmd.Flags().IntVarP(&o.count, "count", "c", 50, "`number` of packets to print")
	cmd.Flags().DurationVar(&o.wait, "for", 10*time.Second, "end after this `time`")
	cmd.Flags().StringVar(&o.match, "match", "", "print only packets whose trace has this `text`, such as an address or a node")
	cmd.Flags().BoolVar(&o.paths, "paths", false, "print one line per packet: the nodes it went through")
	return cmd
}

func positive(flag string, n int) error {
	if n <= 0 {
		return usage("%s: expected more than 0", flag)
	}
	return nil
}

// trace records packets until there are enough, the time is over or the user has seen
// enough, and prints them.
func (a *app) trace(ctx context.Context, o traceOptions) error {
	recorded := o.count
	if o.match != "" {
		recorded = max(recorded, 5000) // most of them may not match
	}
	if err := a.startTrace(ctx, o.nodes, recorded); err != nil {
		return err
	}
	var all, wanted []string
	err := poll(ctx, o.wait, func(ctx context.Context) (done bool, err error) {
		text, err := a.client.VPPCommand(ctx, fmt.Sprintf("show trace max %d", recorded))
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
	_, stopped := a.client.VPPCommand(context.WithoutCancel(ctx), "clear trace")
	if err = errors.Join(err, stopped); err != nil {
		return err
	}
	for _, packet := range wanted {
		if o.paths {
			packet = packetPath(packet)
		}
		fmt.Fprintln(a.Out, packet)
	}
	summary := fmt.Sprintf("%d packets", len(wanted))
	if o.match != "" {
		summary = fmt.Sprintf("%d of %d packets have %q", len(wanted), len(all), o.match)
	}
	_, err = fmt.Fprintln(a.Err, summary)
	return err
}

// startTrace clears the trace of VPP and begins one at the nodes, or at all input
// nodes that VPP has.
func (a *app) startTrace(ctx context.Context, nodes []string, packets int) error {
	if _, err := a.client.VPPCommand(ctx, "clear trace"); err != nil {
		return err
	}
	known := nodes
	if len(nodes) == 0 {
		known = inputNodes
	}
	started := false
	for _, node := range known {
		_, err := a.client.VPPCommand(ctx, fmt.Sprintf("trace add %s %d", node, packets))
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
func refusedByVPP(err error) bool {
	answer := (*client.Error)(nil)
	return errors.As(err, &answer) && answer.Status == http.StatusBadGateway
}

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
	packetEnds    = regexp.MustCompile(`\b(ARP|[A-Z0-9-]+): [0-9a-f.:]+ -> [0-9a-f.:]+`)
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

// packetPath returns the nodes of a traced packet, and from where to where it went when
// it entered VPP: the addresses of IP, or else those of Ethernet.
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

type captureOptions struct {
	iface, file  string
	rx, tx, drop bool
	count, bytes int
	wait         time.Duration
}

func (a *app) vppPcap() *cobra.Command {
	o := captureOptions{}
	cmd := &cobra.Command{
		Use:   "pcap",
		Short: "Capture packets of VPP into a pcap file",
		Long: "Captures received, sent and dropped packets into a file that tcpdump and Wireshark read.\n" +
			"It ends when --count packets are there, after --for, or with Ctrl-C. VPP writes the file\n" +
			"into /tmp of the machine or container where VPP runs.",
		Example: "  agentctl vpp pcap --interface memif1 --rx --tx\n  agentctl vpp pcap --drop --for 1m --file dropped.pcap",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := cmp.Or(positive("--count", o.count), positive("--for", int(o.wait)), positive("--max-bytes", o.bytes))
			if err != nil {
				return err
			}
			if o.file == "" || strings.ContainsAny(o.file, "/ \t") {
				return usage("--file: %q: expected the name of a file, without a directory: VPP writes into /tmp", o.file)
			}
			return a.capture(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVarP(&o.iface, "interface", "i", "any", "name of the `interface`")
	cmd.Flags().BoolVar(&o.rx, "rx", false, "capture received packets (default: received and sent ones)")
	cmd.Flags().BoolVar(&o.tx, "tx", false, "capture sent packets")
	cmd.Flags().BoolVar(&o.drop, "drop", false, "capture dropped packets")
	cmd.Flags().IntVarP(&o.count, "count", "c", 1000, "`number` of packets to capture")
	cmd.Flags().IntVar(&o.bytes, "max-bytes", 512, "`bytes` to keep of each packet")
	cmd.Flags().StringVar(&o.file, "file", "agentctl.pcap", "name of the `file`; VPP puts it into /tmp")
	cmd.Flags().DurationVar(&o.wait, "for", 10*time.Second, "end after this `time`")
	return cmd
}

// capturedPackets reads the number of packets from "pcap trace status".
var capturedPackets = regexp.MustCompile(`enabled: (\d+) of`)

func (a *app) capture(ctx context.Context, o captureOptions) error {
	status, err := a.client.VPPCommand(ctx, "pcap trace status")
	if err != nil {
		return err
	}
	if capturedPackets.MatchString(status) {
		return fmt.Errorf("VPP captures already: %s; 'agentctl vpp cli pcap trace off' ends that", strings.Join(strings.Fields(status), " "))
	}
	command, err := a.captureCommand(ctx, o)
	if err != nil {
		return err
	}
	if _, err := a.client.VPPCommand(ctx, command); err != nil {
		return err
	}
	enough := fmt.Sprintf("enabled: %d of", o.count)
	err = poll(ctx, o.wait, func(ctx context.Context) (bool, error) {
		status, err := a.client.VPPCommand(ctx, "pcap trace status")
		return strings.Contains(status, enough) || !capturedPackets.MatchString(status), err
	})
	answer, stopped := a.client.VPPCommand(context.WithoutCancel(ctx), "pcap trace off")
	if err = errors.Join(err, stopped); err != nil {
		return err
	}
	if file := regexp.MustCompile(`(\d+) packets? to (\S+?),`).FindStringSubmatch(answer); file != nil {
		_, err = fmt.Fprintf(a.Out, "%s packets in %s, where VPP runs\n", file[1], file[2])
		return err
	}
	_, err = fmt.Fprint(a.Out, lines(answer))
	return err
}

// captureCommand returns the command of VPP that begins a capture.
func (a *app) captureCommand(ctx context.Context, o captureOptions) (string, error) {
	words := []string{"pcap trace"}
	for _, d := range []struct {
		on   bool
		word string
	}{{o.rx, "rx"}, {o.tx, "tx"}, {o.drop, "drop"}} {
		if d.on {
			words = append(words, d.word)
		}
	}
	if len(words) == 1 {
		words = append(words, "rx tx")
	}
	name := o.iface
	if name != "any" {
		var err error
		if name, err = a.internalName(ctx, name); err != nil {
			return "", err
		}
	}
	return strings.Join(append(words, fmt.Sprintf("max %d intfc %s file %s max-bytes-per-pkt %d", o.count, name, o.file, o.bytes)), " "), nil
}

// internalName returns the name that VPP gave to the interface of this name. The name
// of VPP itself is accepted, too.
func (a *app) internalName(ctx context.Context, name string) (string, error) {
	items, err := a.dump(ctx, []string{"vpp.interfaces"}, dumpOptions{view: "cached"})
	if err != nil {
		return "", err
	}
	for _, item := range items {
		var meta struct{ InternalName string }
		if err := json.Unmarshal(item.Metadata, &meta); err != nil || meta.InternalName == "" {
			continue
		}
		if strings.HasSuffix(item.Key, "/"+name) || meta.InternalName == name {
			return meta.InternalName, nil
		}
	}
	return "", fmt.Errorf("--interface %s: VPP has no such interface; 'agentctl dump vpp.interfaces' lists them", name)
}

func (a *app) vppPunt() *cobra.Command {
	return &cobra.Command{
		Use: "punt", Short: "Show for which reasons VPP punted packets, and who receives them",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, part := range [][2]string{
				{"PACKETS BY REASON", "show punt stats"}, {"REASONS AND WHO ASKED FOR THEM", "show punt reasons"},
				{"SOCKETS BY PORT", "show punt socket registrations l4"},
				{"SOCKETS BY REASON", "show punt socket registrations exception"},
			} {
				output, err := a.client.VPPCommand(cmd.Context(), part[1])
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(a.Out, "%s:\n%s\n", part[0], lines(output)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

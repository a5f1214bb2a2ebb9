package vpp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/values"
)

type captureOptions struct {
	iface, file  string
	rx, tx, drop bool
	count, bytes int
	wait         time.Duration
}

type pcapCommand struct {
	*cmdutil.Factory
	flags captureOptions
}

func newPcap(f *cmdutil.Factory) *cobra.Command {
	o := &pcapCommand{Factory: f}
	cmd := &cobra.Command{
		Use:   "pcap",
		Short: "Capture packets of VPP into a pcap file",
		Long: "Captures received, sent and dropped packets into a file that tcpdump and Wireshark read.\n" +
			"It ends when --count packets are there, after --for, or with Ctrl-C. VPP writes the file\n" +
			"into /tmp of the machine or container where VPP runs.",
		Example: "  agentctl vpp pcap --interface memif1 --rx --tx\n  agentctl vpp pcap --drop --for 1m --file dropped.pcap",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE:    o.run,
	}
	cmd.Flags().StringVarP(&o.flags.iface, "interface", "i", "any", "name of the `interface`")
	cmd.Flags().BoolVar(&o.flags.rx, "rx", false, "capture received packets (default: received and sent ones)")
	cmd.Flags().BoolVar(&o.flags.tx, "tx", false, "capture sent packets")
	cmd.Flags().BoolVar(&o.flags.drop, "drop", false, "capture dropped packets")
	cmd.Flags().IntVarP(&o.flags.count, "count", "c", 1000, "`number` of packets to capture")
	cmd.Flags().IntVar(&o.flags.bytes, "max-bytes", 512, "`bytes` to keep of each packet")
	cmd.Flags().StringVar(&o.flags.file, "file", "agentctl.pcap", "name of the `file`; VPP puts it into /tmp")
	cmd.Flags().DurationVar(&o.flags.wait, "for", 10*time.Second, "end after this `time`")
	return cmdutil.OnTargets(cmd, cmdutil.OneTarget)
}

func (o *pcapCommand) run(cmd *cobra.Command, _ []string) error {
	err := cmp.Or(positive("--count", o.flags.count), positive("--for", int(o.flags.wait)), positive("--max-bytes", o.flags.bytes))
	if err != nil {
		return err
	}
	if o.flags.file == "" || strings.ContainsAny(o.flags.file, "/ \t") {
		return exit.Usagef("--file: %q: expected the name of a file, without a directory: VPP writes into /tmp", o.flags.file)
	}
	return o.capture(cmd.Context(), o.flags)
}

// capturedPackets reads the number of packets from "pcap trace status".
var capturedPackets = regexp.MustCompile(`enabled: (\d+) of`)

func (opts *pcapCommand) capture(ctx context.Context, o captureOptions) error {
	status, err := opts.Client.VPP.Command(ctx, "pcap trace status")
	if err != nil {
		return err
	}
	if capturedPackets.MatchString(status) {
		return fmt.Errorf("VPP captures already: %s; 'agentctl vpp cli pcap trace off' ends that", strings.Join(strings.Fields(status), " "))
	}
	command, err := opts.captureCommand(ctx, o)
	if err != nil {
		return err
	}
	if _, err := opts.Client.VPP.Command(ctx, command); err != nil {
		return err
	}
	enough := fmt.Sprintf("enabled: %d of", o.count)
	err = poll(ctx, o.wait, func(ctx context.Context) (bool, error) {
		status, err := opts.Client.VPP.Command(ctx, "pcap trace status")
		return strings.Contains(status, enough) || !capturedPackets.MatchString(status), err
	})
	answer, stopped := opts.Client.VPP.Command(context.WithoutCancel(ctx), "pcap trace off")
	if err = errors.Join(err, stopped); err != nil {
		return err
	}
	if file := regexp.MustCompile(`(\d+) packets? to (\S+?),`).FindStringSubmatch(answer); file != nil {
		return opts.Printf("%s packets in %s, where VPP runs\n", file[1], file[2])
	}
	return opts.Print(output.Lines(answer))
}

// captureCommand returns the command of VPP that begins a capture.
func (opts *pcapCommand) captureCommand(ctx context.Context, o captureOptions) (string, error) {
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
		if name, err = opts.internalName(ctx, name); err != nil {
			return "", err
		}
	}
	return strings.Join(append(words, fmt.Sprintf("max %d intfc %s file %s max-bytes-per-pkt %d", o.count, name, o.file, o.bytes)), " "), nil
}

// internalName returns the name that VPP gave to the interface of this name. The name
// of VPP itself is accepted, too.
func (o *pcapCommand) internalName(ctx context.Context, name string) (string, error) {
	items, err := values.Dump(ctx, o.Factory, []string{"vpp.interfaces"}, values.DumpOptions{View: "cached"})
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

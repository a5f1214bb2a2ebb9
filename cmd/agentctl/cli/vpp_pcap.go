package cli

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
)

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
		return a.printf("%s packets in %s, where VPP runs\n", file[1], file[2])
	}
	return a.print(lines(answer))
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

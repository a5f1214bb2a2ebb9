package vpp

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
)

// ruleHits is what a rule of an access control list matched.
type ruleHits struct {
	ACL     string `json:"acl"`
	Rule    int    `json:"rule"`
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
}

type aclOptions struct {
	*cmdutil.Factory
}

func newACL(f *cmdutil.Factory) *cobra.Command {
	o := &aclOptions{Factory: f}
	return f.Formatted(&cobra.Command{
		Use: "acl [NAME]", Short: "Show what the rules of all access control lists matched, or of one",
		Example: "  agentctl vpp acl web",
		Long: "Show what the rules of all access control lists matched, or of one, since the list was created or changed.\n" +
			"Rules are numbered from 0; those that matched nothing are left out. VPP counts if hit-counters is true in\n" +
			"vpp-aclplugin.conf; what is shown is as old as polling-interval of telemetry.conf at most.",
		Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		RunE: o.run,
	})
}

func (o *aclOptions) run(cmd *cobra.Command, args []string) error {
	all, err := o.Client.Metrics.All(cmd.Context())
	if err != nil {
		return err
	}
	hits := hitsOf(all)
	if len(args) > 0 {
		hits = slices.DeleteFunc(hits, func(h ruleHits) bool { return h.ACL != args[0] })
	}
	if len(hits) == 0 && len(args) > 0 {
		if err := o.unknown(cmd.Context(), args[0]); err != nil {
			return err
		}
	}
	if len(hits) == 0 {
		return errors.New("no rule matched a packet; VPP counts if hit-counters is true in vpp-aclplugin.conf")
	}
	t := output.NewTable("ACL", "RULE", "PACKETS", "BYTES")
	for _, h := range hits {
		t.Row(h.ACL, h.Rule, h.Packets, h.Bytes)
	}
	return output.Show(o.Printer, hits, func([]ruleHits) error { return t.Write(o.Printer) })
}

// unknown returns an error if the configuration has no such list.
func (o *aclOptions) unknown(ctx context.Context, name string) error {
	list, err := o.Client.Scheduler.Values(ctx)
	if err != nil {
		return nil // agents without scheduler have lists, too
	}
	var keys []string
	key := o.Models.FullKey("vpp.acls.acl/" + name)
	for _, v := range list {
		if keys = append(keys, v.Value.GetKey()); v.Value.GetKey() == key {
			return nil
		}
	}
	return fmt.Errorf("there is no vpp.acls.acl/%s%s", name, o.MeantItem(key, keys))
}

var (
	listLabel = regexp.MustCompile(`[{,]acl=("(?:[^"\\]|\\.)*")`)
	ruleLabel = regexp.MustCompile(`[{,]rule="(\d+)"`)
)

// hitsOf reads the metrics of rules, in their order.
func hitsOf(all []client.Metric) (hits []ruleHits) {
	at := map[string]int{}
	for _, m := range all {
		if m.Name != "vpp_acl_rule_packets" && m.Name != "vpp_acl_rule_bytes" {
			continue
		}
		for _, s := range m.Samples {
			n, known := at[s.Labels]
			if !known {
				n, at[s.Labels] = len(hits), len(hits)
				hits = append(hits, ruleOf(s.Labels))
			}
			value, _ := strconv.ParseFloat(s.Value, 64) // of a program that writes numbers
			if m.Name == "vpp_acl_rule_packets" {
				hits[n].Packets = uint64(value)
			} else {
				hits[n].Bytes = uint64(value)
			}
		}
	}
	return hits
}

func ruleOf(labels string) (h ruleHits) {
	if m := listLabel.FindStringSubmatch(labels); m != nil {
		h.ACL, _ = strconv.Unquote(m[1])
	}
	if m := ruleLabel.FindStringSubmatch(labels); m != nil {
		h.Rule, _ = strconv.Atoi(m[1])
	}
	return h
}

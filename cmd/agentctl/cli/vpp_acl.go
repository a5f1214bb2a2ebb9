package cli

import (
	"errors"
	"regexp"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

// ruleHits is what a rule of an access control list matched.
type ruleHits struct {
	ACL     string `json:"acl"`
	Rule    int    `json:"rule"`
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
}

func (a *app) vppACL() *cobra.Command {
	return a.formatted(&cobra.Command{
		Use: "acl [NAME]", Short: "Show what the rules of all access control lists matched, or of one",
		Long: "Show what the rules of all access control lists matched, or of one, since the list was created or changed.\n" +
			"Rules are numbered from 0; those that matched nothing are left out. VPP counts if hit-counters is true in\n" +
			"vpp-aclplugin.conf; what is shown is as old as polling-interval of telemetry.conf at most.",
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := a.client.Metrics(cmd.Context())
			if err != nil {
				return err
			}
			hits := hitsOf(all)
			if len(args) > 0 {
				hits = slices.DeleteFunc(hits, func(h ruleHits) bool { return h.ACL != args[0] })
			}
			if len(hits) == 0 {
				return errors.New("no rule matched a packet; VPP counts if hit-counters is true in vpp-aclplugin.conf")
			}
			t := newTable("ACL", "RULE", "PACKETS", "BYTES")
			for _, h := range hits {
				t.row(h.ACL, h.Rule, h.Packets, h.Bytes)
			}
			return show(a, hits, func([]ruleHits) error { return t.write(a) })
		},
	})
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

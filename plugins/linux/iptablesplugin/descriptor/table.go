package descriptor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
)

// table is a table as iptables-save prints it.
type table map[string]*chain

type chain struct {
	policy string   // "-" for chains that are not built in
	rules  []string // without "-A CHAIN "
}

func readTable(ctx context.Context, f netlinkapi.PacketFilter, of netlinkapi.FilterTable) (table, error) {
	text, err := f.SaveTable(ctx, of)
	if err != nil {
		return nil, err
	}
	return parseTable(text), nil
}

func parseTable(text string) table {
	t := table{}
	for row := range strings.Lines(text) {
		row = strings.TrimSuffix(row, "\n")
		if declared, ok := strings.CutPrefix(row, ":"); ok {
			if fields := strings.Fields(declared); len(fields) >= 2 {
				t[fields[0]] = &chain{policy: fields[1]}
			}
		} else if appended, ok := strings.CutPrefix(row, "-A "); ok {
			name, rule, _ := strings.Cut(appended, " ")
			if c := t[name]; c != nil {
				c.rules = append(c.rules, rule)
			}
		}
	}
	return t
}

// fingerprint identifies the rules of a chain as they were printed, and the rules of its value.
func (c *chain) fingerprint(v *ruleChain) string {
	sum := sha256.Sum256([]byte(strings.Join(c.rules, "\n") + "\n\n" + strings.Join(v.GetRules(), "\n")))
	return hex.EncodeToString(sum[:8])
}

// custom lists the chains that are not built in.
func (t table) custom() []string {
	var names []string
	for name, c := range t {
		if c.policy == "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// jump is a rule of a built-in chain that leads to a chain of an agent.
type jump struct {
	rule   string // as it was printed
	to     string
	former string // policy to restore when the chain goes; empty: leave it
}

// Marks in the comments of jumps.
const (
	jumpMark   = "tenuto:"
	policyMark = "policy="
)

// jumps lists the jumps to the chains of agents.
func (c *chain) jumps() []jump {
	var all []jump
	for _, rule := range c.rules {
		args, err := splitRule(rule)
		if err != nil {
			continue
		}
		of, ok := strings.CutPrefix(argument(args, "--comment"), jumpMark)
		if !ok {
			continue
		}
		j := jump{rule: rule, to: argument(args, "-j")}
		if policy, ok := strings.CutPrefix(of, policyMark); ok {
			j.former, _, _ = strings.Cut(policy, ":")
		}
		all = append(all, j)
	}
	return all
}

// place is where a value is in the packet filter of its namespace.
type place struct {
	table netlinkapi.FilterTable
	chain string // the chain of the agent
	hook  string // the built-in chain that jumps to it; empty for CUSTOM
	name  string // of the value, for the comment of the jump
}

func (d chains) place(v *iptables.RuleChain) place {
	p := place{
		table: netlinkapi.FilterTable{IPv6: v.GetProtocol() == iptables.RuleChain_IPV6, Name: strings.ToLower(v.GetTable().String())},
		chain: v.GetChainName(),
		name:  d.Label + "/" + v.GetName(),
	}
	if v.GetChainType() != iptables.RuleChain_CUSTOM {
		p.hook = v.GetChainType().String()
		sum := sha256.Sum256([]byte(p.name))
		p.chain = "TENUTO-" + hex.EncodeToString(sum[:4]) + "-" + p.hook
	}
	return p
}

// jump returns the rule of the built-in chain that leads to the chain of the agent.
func (p place) jump(former string) string {
	comment := jumpMark
	if former != "" {
		comment += policyMark + former + ":"
	}
	comment += strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' || strings.ContainsRune("\"'\\`", r) {
			return '_'
		}
		return r
	}, p.name)
	return joinRule([]string{"-m", "comment", "--comment", comment[:min(len(comment), maxComment)], "-j", p.chain})
}

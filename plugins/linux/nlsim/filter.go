package nlsim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// filterTable is a table of the packet filter: what iptables-restore was given, by chain.
type filterTable map[string]*filterChain

type filterChain struct {
	policy string // "-" for chains that are not built in
	rules  []string
}

// builtinChains are the chains that tables have from the start.
var builtinChains = map[string][]string{
	"filter":   {"INPUT", "FORWARD", "OUTPUT"},
	"nat":      {"PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"},
	"mangle":   {"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"},
	"raw":      {"PREROUTING", "OUTPUT"},
	"security": {"INPUT", "FORWARD", "OUTPUT"},
}

// targets are the targets of rules that are no chains.
var targets = strings.Fields("ACCEPT DROP RETURN QUEUE AUDIT CHECKSUM CLASSIFY CLUSTERIP CONNMARK CONNSECMARK CT DNAT DNPT " +
	"DSCP ECN HL HMARK IDLETIMER LED LOG MARK MASQUERADE NETMAP NFLOG NFQUEUE NOTRACK RATEEST REDIRECT REJECT SECMARK SET SNAT SNPT " +
	"SYNPROXY TCPMSS TCPOPTSTRIP TEE TOS TPROXY TRACE TTL ULOG")

var (
	errNoTable  = errors.New("table does not exist")
	errNoChain  = errors.New("no chain/target/match by that name")
	errNoRule   = errors.New("bad rule (does a matching rule exist in that chain?)")
	errInUse    = errors.New("rules jump to the chain")
	errBadInput = errors.New("bad line")
)

// table returns a table of the namespace; of a new one if there was no change yet.
func (ns *space) table(t netlinkapi.FilterTable) (filterTable, error) {
	if ft := ns.filters[t]; ft != nil {
		return ft, nil
	}
	builtin := builtinChains[t.Name]
	if builtin == nil {
		return nil, fmt.Errorf("%s: %w", t.Name, errNoTable)
	}
	ft := filterTable{}
	for _, name := range builtin {
		ft[name] = &filterChain{policy: "ACCEPT"}
	}
	return ft, nil
}

func (h *handle) SaveTable(ctx context.Context, t netlinkapi.FilterTable) (text string, err error) {
	err = h.read(ctx, "SaveTable", func() error {
		ft, err := h.ns.table(t)
		if err == nil {
			text = ft.save(t)
		}
		return err
	})
	return text, err
}

func (h *handle) RestoreTable(ctx context.Context, t netlinkapi.FilterTable, lines []string) error {
	return h.change(ctx, "RestoreTable", func() error {
		ft, err := h.ns.table(t)
		if err != nil {
			return err
		}
		if ft, err = ft.restored(lines); err != nil {
			return err
		}
		h.ns.filters[t] = ft
		h.changed(t.NFTable())
		return nil
	})
}

func (h *handle) TryTable(ctx context.Context, t netlinkapi.FilterTable, lines []string) (text string, err error) {
	err = h.read(ctx, "TryTable", func() error {
		ft, err := (&space{}).table(t)
		if err == nil {
			ft, err = ft.restored(lines)
		}
		if err == nil {
			text = ft.save(t)
		}
		return err
	})
	return text, err
}

// save prints the table as iptables-save does.
func (ft filterTable) save(t netlinkapi.FilterTable) string {
	var chains, rules strings.Builder
	for _, name := range slices.Sorted(maps.Keys(ft)) {
		fmt.Fprintf(&chains, ":%s %s [0:0]\n", name, ft[name].policy)
		for _, rule := range ft[name].rules {
			fmt.Fprintf(&rules, "-A %s %s\n", name, rule)
		}
	}
	return "*" + t.Name + "\n" + chains.String() + rules.String() + "COMMIT\n"
}

// printFilters prints the tables that differ from the tables of a new namespace.
func (ns *space) printFilters(b *strings.Builder) {
	for _, t := range slices.SortedFunc(maps.Keys(ns.filters), func(x, y netlinkapi.FilterTable) int {
		return strings.Compare(fmt.Sprint(x), fmt.Sprint(y))
	}) {
		fresh, err := (&space{}).table(t)
		text := ns.filters[t].save(t)
		if err == nil && text != fresh.save(t) {
			fmt.Fprintf(b, "  packet filter, IPv6: %t\n%s", t.IPv6, text)
		}
	}
}

// restored returns a copy of the table with the lines applied.
func (ft filterTable) restored(lines []string) (filterTable, error) {
	next := filterTable{}
	for name, c := range ft {
		next[name] = &filterChain{c.policy, slices.Clone(c.rules)}
	}
	for i, line := range lines {
		if err := next.apply(line); err != nil {
			return nil, &netlinkapi.LineError{Line: i, Err: fmt.Errorf("%q: %w", line, err)}
		}
	}
	return next, nil
}

func (ft filterTable) apply(line string) error {
	if declared, ok := strings.CutPrefix(line, ":"); ok {
		name, _, _ := strings.Cut(declared, " ")
		ft[name] = &filterChain{policy: "-"}
		return nil
	}
	command, rest, _ := strings.Cut(line, " ")
	name, rule, _ := strings.Cut(rest, " ")
	c := ft[name]
	if c == nil {
		return fmt.Errorf("chain %q: %w", name, errNoChain)
	}
	switch command {
	case "-A", "-I":
		if err := ft.checkTarget(rule); err != nil {
			return err
		}
		at := len(c.rules)
		if command == "-I" {
			at = 0
		}
		c.rules = slices.Insert(c.rules, at, rule)
	case "-D":
		at := slices.Index(c.rules, rule)
		if at < 0 {
			return errNoRule
		}
		c.rules = slices.Delete(c.rules, at, at+1)
	case "-P":
		c.policy = rule
	case "-X":
		return ft.deleteChain(name)
	default:
		return errBadInput
	}
	return nil
}

// checkTarget refuses a jump to a chain that does not exist.
func (ft filterTable) checkTarget(rule string) error {
	if to := target(rule); to != "" && ft[to] == nil && !slices.Contains(targets, to) {
		return fmt.Errorf("chain %q: %w", to, errNoChain)
	}
	return nil
}

func (ft filterTable) deleteChain(name string) error {
	for _, c := range ft {
		if slices.ContainsFunc(c.rules, func(rule string) bool { return target(rule) == name }) {
			return errInUse
		}
	}
	delete(ft, name)
	return nil
}

// target returns where a rule jumps to; empty if nowhere.
func target(rule string) string {
	words := strings.Fields(rule)
	for i, word := range words[:max(0, len(words)-1)] {
		if slices.Contains([]string{"-j", "--jump", "-g", "--goto"}, word) {
			return words[i+1]
		}
	}
	return ""
}

package nlsim

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// The simulator knows of the language of nftables: blocks, comments, that a jump needs its
// chain, and counters, which are printed with their state.

var (
	nftBlock = regexp.MustCompile(`^(chain|set|map|flowtable|counter|quota|limit|ct|secmark|synproxy) .*\{$`)
	nftJump  = regexp.MustCompile(`\b(?:jump|goto) (\w+)`)
	nftState = regexp.MustCompile(` packets \d+ bytes \d+`)
	nftCount = regexp.MustCompile(`\bcounter( packets \d+ bytes \d+)?`)
)

// NFTable implements netlinkapi.Nftables.
func (h *handle) NFTable(ctx context.Context, t netlinkapi.NFTable, state bool) (content string, err error) {
	err = h.read(ctx, "NFTable", func() error {
		text, there := h.ns.nftables[t]
		if !there {
			return netlinkapi.ErrNotFound
		}
		if content = text; !state {
			content = nftState.ReplaceAllString(text, "")
		}
		return nil
	})
	return content, err
}

// SetNFTable implements netlinkapi.Nftables.
func (h *handle) SetNFTable(ctx context.Context, t netlinkapi.NFTable, content string) error {
	return h.change(ctx, "SetNFTable", func() error {
		text, err := printNFT(content)
		if err != nil {
			return err
		}
		h.ns.nftables[t] = text
		h.changed(t)
		return nil
	})
}

// DeleteNFTable implements netlinkapi.Nftables.
func (h *handle) DeleteNFTable(ctx context.Context, t netlinkapi.NFTable) error {
	return h.change(ctx, "DeleteNFTable", func() error {
		if _, there := h.ns.nftables[t]; !there {
			return netlinkapi.ErrNotFound
		}
		delete(h.ns.nftables, t)
		h.changed(t)
		return nil
	})
}

// changed notifies of a table that another program changed.
func (h *handle) changed(t netlinkapi.NFTable) {
	if h.foreign {
		h.ns.notify(netlinkapi.Event{Kind: netlinkapi.TableChanged, NFTable: t})
	}
}

// TryNFTable implements netlinkapi.Nftables.
func (h *handle) TryNFTable(ctx context.Context, _ netlinkapi.NFTable, content string, state bool) (printed string, err error) {
	err = h.read(ctx, "TryNFTable", func() error {
		if printed, err = printNFT(content); !state {
			printed = nftState.ReplaceAllString(printed, "")
		}
		return err
	})
	return printed, err
}

// printNFT checks the content of a table, and prints it as nft does.
func printNFT(content string) (string, error) {
	var b strings.Builder
	depth := 0
	chains := map[string]bool{}
	jumps := map[string]int{}
	for i, line := range strings.Split(content, "\n") {
		line, _, _ = strings.Cut(line, " #")
		line = strings.Join(strings.Fields(line), " ")
		refuse := func(message string) error { return &netlinkapi.ContentError{Line: i + 1, Message: message} }
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case line == "}":
			depth--
		case depth == 0 && !strings.HasPrefix(line, "comment ") && !nftBlock.MatchString(line), line == "bogus":
			return "", refuse("syntax error, unexpected string")
		}
		if name, ok := strings.CutPrefix(line, "chain "); ok {
			chains[strings.TrimSuffix(name, " {")] = true
		}
		for _, m := range nftJump.FindAllStringSubmatch(line, -1) {
			jumps[m[1]] = i + 1
		}
		line = nftCount.ReplaceAllStringFunc(line, func(c string) string {
			if depth == 0 || strings.Contains(c, "packets") {
				return c
			}
			return c + " packets 0 bytes 0"
		})
		fmt.Fprintf(&b, "%s%s\n", strings.Repeat("\t", depth), line)
		if strings.HasSuffix(line, "{") {
			depth++
		}
	}
	for _, to := range slices.Sorted(maps.Keys(jumps)) {
		if !chains[to] {
			return "", &netlinkapi.ContentError{Line: jumps[to], Message: "Could not process rule: No such file or directory"}
		}
	}
	return b.String(), nil
}

// printNFTables prints the tables of nftables.
func (ns *space) printNFTables(b *strings.Builder) {
	for _, t := range slices.SortedFunc(maps.Keys(ns.nftables), func(x, y netlinkapi.NFTable) int {
		return strings.Compare(x.String(), y.String())
	}) {
		fmt.Fprintf(b, "  nftables %s\n%s", t, ns.nftables[t])
	}
}

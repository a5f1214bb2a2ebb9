package vppcalls

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.fd.io/govpp/binapi/vlib"
)

// cli runs a command of VPP's command line, for what the API of old releases does
// not report.
func (c *Calls) cli(ctx context.Context, command string) (string, error) {
	reply := &vlib.CliInbandReply{}
	if err := c.vpp.Call(ctx, &vlib.CliInband{Cmd: command}, reply); err != nil {
		return "", fmt.Errorf("command %q: %w", command, err)
	}
	return reply.Reply, nil
}

// tablesByIndex returns the IDs of the IPv4 tables by their indexes inside of VPP.
// The command line knows the indexes and names of tables and the API their IDs and
// names, both in the order of the indexes (ip4_show_fib in src/vnet/fib/ip4_fib.c).
func (c *Calls) tablesByIndex(ctx context.Context) (map[uint32]uint32, error) {
	const command = "show ip fib summary"
	text, err := c.cli(ctx, command)
	if err != nil {
		return nil, err
	}
	all, err := c.DumpTables(ctx)
	if err != nil {
		return nil, err
	}
	shown := shownTables(text)
	ids := make(map[uint32]uint32, len(shown))
	for _, t := range all {
		if t.IsIP6 {
			continue
		}
		at := len(ids)
		if at == len(shown) || shown[at].name != t.Name {
			return nil, fmt.Errorf("table %d (%s) is not number %d of what %q shows", t.TableID, t.Name, at, command)
		}
		ids[shown[at].index] = t.TableID
	}
	return ids, nil
}

// shownTable is a table on the command line.
type shownTable struct {
	name  string
	index uint32
}

var tableLine = regexp.MustCompile(`^(.*), fib_index:(\d+), flow hash:`)

func shownTables(text string) []shownTable {
	var out []shownTable
	for line := range strings.Lines(text) {
		if m := tableLine.FindStringSubmatch(line); m != nil {
			if index, err := strconv.ParseUint(m[2], 10, 32); err == nil {
				out = append(out, shownTable{m[1], uint32(index)})
			}
		}
	}
	return out
}

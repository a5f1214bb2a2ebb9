// Package cli is the command line of a simulated VPP as cli_inband offers it: the
// show commands that people and agents use, the commands of the story of the stale
// L2 FIB entry, and VPP's answer to everything else.
//
// A command is the same requests that a client would make, in words; its output is
// VPP's to the blank.
package cli

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/vnet"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/vlib"
)

// CLI runs commands.
type CLI struct {
	server  *wire.Server
	net     *vnet.VNet
	version string
	root    *node
}

// node is a word of a command's path.
type node struct {
	path     string
	children map[string]*node
	run      func(*command) error
}

// command is one command being run.
type command struct {
	args []string
	out  strings.Builder
}

// Register makes the command line answer cli_inband.
func Register(server *wire.Server, net *vnet.VNet, version string) {
	c := &CLI{server: server, net: net, version: version, root: &node{}}
	c.add("show version", c.showVersion)
	c.add("show interface", c.showInterface)
	c.add("show bridge-domain", c.showBridgeDomain)
	c.add("show l2fib", c.showL2FIB)
	c.add("show ip fib", c.showFIB(false))
	c.add("show ip6 fib", c.showFIB(true))
	c.add("show ip table", c.showTables(false))
	c.add("show ip6 table", c.showTables(true))
	c.add("show ip neighbors", c.showNeighbors)
	c.add("show ip neighbor-config", c.showNeighborLimits)
	c.add("set ip neighbor-config", c.setNeighborLimits)
	c.add("show plugins", c.showPlugins)
	c.add("show api clients", c.showClients)
	c.add("create loopback interface", c.createLoopback)
	c.add("create bridge-domain", c.createBridgeDomain)
	c.add("delete loopback interface", c.deleteLoopback)
	c.add("set interface state", c.setInterfaceState)
	c.add("set interface l2 bridge", c.setInterfaceL2Bridge)
	c.add("l2fib add", c.l2fibAdd)
	c.add("l2fib del", c.l2fibDel)
	wire.Handle(server, func(_ *wire.Call, req *vlib.CliInband) *vlib.CliInbandReply {
		reply, err := c.Run(req.Cmd)
		if err != nil {
			return &vlib.CliInbandReply{Retval: int32(api.UNSPECIFIED), Reply: reply + err.Error() + "\n"}
		}
		return &vlib.CliInbandReply{Reply: reply}
	})
}

func (c *CLI) add(path string, run func(*command) error) {
	at := c.root
	for _, word := range strings.Fields(path) {
		if at.children == nil {
			at.children = make(map[string]*node)
		}
		if at.children[word] == nil {
			at.children[word] = &node{path: strings.TrimSpace(at.path + " " + word)}
		}
		at = at.children[word]
	}
	at.run = run
}

// Run runs one command, words abbreviated as far as they are unambiguous. The error
// is what VPP prints after the output.
func (c *CLI) Run(line string) (string, error) {
	at, words := c.root, strings.Fields(line)
	for len(words) > 0 {
		next := at.child(words[0])
		if next == nil {
			break
		}
		at, words = next, words[1:]
	}
	if at.run == nil {
		return "", at.fail(unknownInput(words))
	}
	cmd := &command{args: words}
	if err := at.run(cmd); err != nil {
		return cmd.out.String(), at.fail(err)
	}
	return cmd.out.String(), nil
}

// child finds a word by its whole or, if only one fits, by its beginning.
func (n *node) child(word string) *node {
	if exact := n.children[word]; exact != nil {
		return exact
	}
	var found *node
	for full, child := range n.children {
		if strings.HasPrefix(full, word) {
			if found != nil {
				return nil
			}
			found = child
		}
	}
	return found
}

func (n *node) fail(err error) error {
	if n.path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", n.path, err)
}

func unknownInput(rest []string) error {
	return fmt.Errorf("unknown input `%s'", strings.Join(rest, " "))
}

// next takes the next argument, empty at the end.
func (cmd *command) next() string {
	if len(cmd.args) == 0 {
		return ""
	}
	arg := cmd.args[0]
	cmd.args = cmd.args[1:]
	return arg
}

// line prints one line; an empty one is not printed, as VPP does it.
func (cmd *command) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	cmd.out.WriteString(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		cmd.out.WriteByte('\n')
	}
}

// center puts a text into the middle of a column, cutting off what is too long.
func center(width int, value any) string {
	text := fmt.Sprint(value)
	if len(text) >= width {
		return text[:width]
	}
	left := (width - len(text) + 1) / 2
	return strings.Repeat(" ", left) + text + strings.Repeat(" ", width-len(text)-left)
}

// call makes a request and returns its one reply.
func call[R any](c *CLI, req interface {
	api.Message
	Size() int
	Marshal([]byte) ([]byte, error)
	Unmarshal([]byte) error
}) (R, bool) {
	for _, m := range c.server.Local(req) {
		if reply, matches := m.(R); matches {
			return reply, true
		}
	}
	var none R
	return none, false
}

// dump makes a request and returns its records.
func dump[R any](c *CLI, req interface {
	api.Message
	Size() int
	Marshal([]byte) ([]byte, error)
	Unmarshal([]byte) error
}) []R {
	var records []R
	for _, m := range c.server.Local(req) {
		if record, matches := m.(R); matches {
			records = append(records, record)
		}
	}
	return records
}

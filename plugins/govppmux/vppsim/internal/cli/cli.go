// Package cli is the command line of a simulated VPP as cli_inband offers it: the
// show commands that people and agents use, the commands of the story of the stale
// L2 FIB entry, and VPP's answer to everything else.
//
// A command is the same requests that a client would make, in words; its output is
// VPP's to the blank.
package cli

import (
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/vnet"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/vlib"
)

// CLI is the commands of the core of VPP.
type CLI struct {
	server  *wire.Server
	net     *vnet.VNet
	version string
}

// Register makes the command line, with what the features bring, answer cli_inband.
func Register(server *wire.Server, net *vnet.VNet, version string) {
	c := &CLI{server: server, net: net, version: version}
	var tree cmdline.Tree
	for _, command := range append(c.commands(), net.Commands()...) {
		tree.Add(command)
	}
	wire.Handle(server, func(_ *wire.Call, req *vlib.CliInband) *vlib.CliInbandReply {
		reply, err := tree.Run(req.Cmd)
		if err != nil {
			return &vlib.CliInbandReply{Retval: int32(api.UNSPECIFIED), Reply: reply + err.Error() + "\n"}
		}
		return &vlib.CliInbandReply{Reply: reply}
	})
}

// commands returns the commands of VPP's core.
func (c *CLI) commands() []cmdline.Command {
	return []cmdline.Command{
		{Path: "show version", Run: c.showVersion},
		{Path: "show interface", Run: c.showInterface},
		{Path: "show bridge-domain", Run: c.showBridgeDomain},
		{Path: "show l2fib", Run: c.showL2FIB},
		{Path: "show ip fib", Run: c.showFIB(false)},
		{Path: "show ip6 fib", Run: c.showFIB(true)},
		{Path: "show ip table", Run: c.showTables(false)},
		{Path: "show ip6 table", Run: c.showTables(true)},
		{Path: "show ip neighbors", Run: c.showNeighbors},
		{Path: "show plugins", Run: c.showPlugins},
		{Path: "show api clients", Run: c.showClients},
		{Path: "create loopback interface", Run: c.createLoopback},
		{Path: "create packet-generator interface", Run: c.createPacketGenerator},
		{Path: "create bridge-domain", Run: c.createBridgeDomain},
		{Path: "delete loopback interface", Run: c.deleteLoopback},
		{Path: "set interface state", Run: c.setInterfaceState},
		{Path: "set interface l2 bridge", Run: c.setInterfaceL2Bridge},
		{Path: "l2fib add", Run: c.l2fibAdd},
		{Path: "l2fib del", Run: c.l2fibDel},
	}
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

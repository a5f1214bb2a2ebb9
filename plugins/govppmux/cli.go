package govppmux

import (
	"context"
	"fmt"
	"reflect"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/vlib"
)

// RunCLI executes a command of VPP's command line and returns what it prints.
// The text of an error of the command itself is part of what VPP prints; the
// error returned is about not having got an answer, or VPP's retval.
func (p *Plugin) RunCLI(ctx context.Context, cmd string) (string, error) {
	p.setup()
	reply := &vlib.CliInbandReply{}
	if err := p.conn.Call(ctx, &vlib.CliInband{Cmd: cmd}, reply); err != nil {
		return "", fmt.Errorf("command %q: %w", cmd, err)
	}
	return reply.Reply, nil
}

// fresh makes an empty message of the type of another one.
func fresh(m api.Message) api.Message {
	return reflect.New(reflect.TypeOf(m).Elem()).Interface().(api.Message)
}

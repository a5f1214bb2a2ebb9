package govppmux

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/vlib"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
)

// RunCLI executes a command of VPP's command line and returns its output. A
// command that VPP refuses is an error with VPP's text; see CommandError.
func (p *Plugin) RunCLI(ctx context.Context, cmd string) (string, error) {
	p.setup()
	reply := &vlib.CliInbandReply{}
	err := p.conn.Call(ctx, &vlib.CliInband{Cmd: cmd}, reply)
	var refused *binapi.RetvalError
	switch {
	case errors.As(err, &refused):
		return "", &CommandError{Command: cmd, Text: strings.TrimSpace(reply.Reply), Err: err}
	case err != nil:
		return "", fmt.Errorf("command %q: %w", cmd, err)
	}
	return reply.Reply, nil
}

// CommandError is a command that VPP refused.
type CommandError struct {
	Command string
	Text    string // what VPP says, all that the command printed; may be empty
	Err     error  // with VPP's return value
}

// Error is the command with VPP's text, or with its return value if there is none.
func (e *CommandError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("command %q: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("command %q: VPP refused it: %s", e.Command, e.Text)
}

// Unwrap returns the error of the call.
func (e *CommandError) Unwrap() error { return e.Err }

// fresh makes an empty message of the type of another one.
func fresh(m api.Message) api.Message {
	return reflect.New(reflect.TypeOf(m).Elem()).Interface().(api.Message)
}

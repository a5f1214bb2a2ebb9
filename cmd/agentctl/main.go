// Command agentctl shows what an agent does and asks it to do things, over its
// HTTP interface.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/cli"
	"github.com/tenuto-dev/tenuto/infra/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], cli.Streams{Out: os.Stdout, Err: os.Stderr}, config.ProcessEnviron)
	stop()
	os.Exit(code)
}

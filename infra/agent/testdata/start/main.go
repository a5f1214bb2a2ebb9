// Command start is a program with a flag of its own that calls Start instead of Run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
)

var who = flag.String("who", "world", "whom to greet")

type greeter struct {
	infra.PluginDeps
	Label *servicelabel.Plugin
}

func (g *greeter) Init() error {
	fmt.Println(*who, g.Label.GetAgentLabel())
	return nil
}

func main() {
	g := &greeter{Label: &servicelabel.DefaultPlugin}
	g.SetName("greeter")
	a := agent.NewAgent(agent.AllPlugins(g))
	if err := a.Start(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if err := a.Stop(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

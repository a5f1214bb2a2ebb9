// Command flags is a program with flags of its own.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
)

var (
	who   = flag.String("who", "world", "whom to greet")
	times = flag.Int("times", 1, "how often to greet")
	loud  = flag.Bool("loud", false, "greet loudly")
)

type greeter struct{ infra.PluginDeps }

func (g *greeter) Init() error {
	fmt.Println(*who, *times, *loud, flag.Parsed())
	return nil
}

func main() {
	g := &greeter{}
	g.SetName("greeter")
	done := make(chan struct{})
	close(done)
	if err := agent.NewAgent(agent.AllPlugins(g), agent.QuitOnClose(done)).Run(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

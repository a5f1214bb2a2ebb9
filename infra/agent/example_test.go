package agent_test

import (
	"context"
	"fmt"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// store is something that others need.
type store struct{ infra.PluginDeps }

func (s *store) Init() error  { fmt.Println("store opened"); return nil }
func (s *store) Close() error { fmt.Println("store closed"); return nil }

// server needs a store.
type server struct {
	infra.PluginDeps
	Store *store
}

func (s *server) Init() error      { fmt.Println("server uses the", s.Store); return nil }
func (s *server) AfterInit() error { fmt.Println("server runs"); return nil }

func ExampleNewAgent() {
	s := &server{Store: &store{}}
	s.SetName("server")
	s.Store.SetName("store")

	quiet := logging.NewRegistry(logging.WithLevel(logging.ErrorLevel))
	a := agent.NewAgent(agent.AllPlugins(s), agent.Logging(quiet))
	if err := a.Start(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	if err := a.Stop(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// store opened
	// server uses the store
	// server runs
	// store closed
}

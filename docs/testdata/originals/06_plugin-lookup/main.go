// Command 06_plugin-lookup is the tutorial of the predecessor about plugins that need each
// other, with other import paths. It builds, and its start ends with an error that names
// the circle: the predecessor called Init of one of them twice.
package main

import (
	"log"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
)

func main() {
	world := &HelloWorld{}
	world.SetName("helloworld")
	world.Setup()
	universe := &HelloUniverse{}
	universe.SetName("hellouniverse")
	universe.Setup()
	world.Universe = universe
	universe.World = world
	a := agent.NewAgent(agent.AllPlugins(world, universe))
	if err := a.Run(); err != nil {
		log.Fatalln(err)
	}
}

type HelloWorld struct {
	infra.PluginDeps
	Universe *HelloUniverse
}

func (p *HelloWorld) Init() error {
	p.Log.Println("Hello World!")
	return nil
}

func (p *HelloWorld) AfterInit() error {
	p.Universe.RegisterWorld("earth", 1)
	return nil
}

func (p *HelloWorld) SetPlace(world, place int) {
	p.Log.Printf("world %d was placed %d", world, place)
}

type HelloUniverse struct {
	infra.PluginDeps
	World  *HelloWorld
	worlds map[string]int
}

func (p *HelloUniverse) Init() error {
	p.worlds = make(map[string]int)
	return nil
}

func (p *HelloUniverse) RegisterWorld(name string, size int) {
	p.worlds[name] = size
	p.World.SetPlace(size, len(p.worlds))
}

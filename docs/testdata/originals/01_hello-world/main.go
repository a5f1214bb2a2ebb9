// Command 01_hello-world is the first tutorial of the predecessor, with other import
// paths.
package main

import (
	"log"

	"github.com/tenuto-dev/tenuto/infra/agent"
)

func main() {
	p := new(HelloWorld)
	a := agent.NewAgent(agent.Plugins(p))
	if err := a.Run(); err != nil {
		log.Fatalln(err)
	}
}

type HelloWorld struct{}

func (p *HelloWorld) String() string { return "HelloWorld" }

func (p *HelloWorld) Init() error {
	log.Println("Hello World!")
	return nil
}

func (p *HelloWorld) AfterInit() error {
	log.Println("All systems go!")
	return nil
}

func (p *HelloWorld) Close() error {
	log.Println("Goodbye World!")
	return nil
}

// Command 03_rest-handler is the tutorial of the predecessor about REST, with other import
// paths.
package main

import (
	"encoding/json"
	"log"
	"net/http"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/infra/rest/render"
)

func main() {
	p := &HelloWorld{
		REST: &rest.DefaultPlugin,
	}
	p.SetName("helloworld")
	p.Setup()
	a := agent.NewAgent(agent.AllPlugins(p))
	if err := a.Run(); err != nil {
		log.Fatalln(err)
	}
}

type HelloWorld struct {
	infra.PluginDeps
	REST rest.HTTPHandlers
}

func (p *HelloWorld) Init() error {
	p.Log.Println("Hello World!")
	p.REST.RegisterHTTPHandler("/greeting", p.fooHandler, "POST")
	return nil
}

func (p *HelloWorld) Close() error {
	p.Log.Println("Goodbye World!")
	return nil
}

type Greeting struct {
	Name string `json:"name"`
}

func (p *HelloWorld) fooHandler(formatter *render.Render) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var greeting Greeting
		if err := json.NewDecoder(req.Body).Decode(&greeting); err != nil {
			formatter.Text(w, http.StatusBadRequest, err.Error())
			return
		}
		p.Log.Infof("greeting %s", greeting.Name)
		formatter.JSON(w, http.StatusOK, map[string]string{"greeting": "Hello " + greeting.Name})
	}
}

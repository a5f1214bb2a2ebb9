// Command 02_plugin-deps is the tutorial of the predecessor about PluginDeps, with other
// import paths: a name, a logger, and a configuration file of the plugin.
package main

import (
	"errors"
	"flag"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// A flag of the program.
var whom string

func init() {
	flag.StringVar(&whom, "whom", "World", "whom to greet")
}

func main() {
	logging.DefaultLogger.SetLevel(logging.DebugLevel)
	logging.DefaultLogger.Debug("the program begins")
	a := agent.NewAgent(agent.AllPlugins(NewHelloWorld()))
	if err := a.Run(); err != nil {
		logging.DefaultLogger.Fatal(err)
	}
}

// Config is the file helloworld.conf.
type Config struct {
	Greeting string `json:"greeting"`
}

type HelloWorld struct {
	infra.PluginDeps
	shout bool
}

func NewHelloWorld() *HelloWorld {
	p := new(HelloWorld)
	p.SetName("helloworld")
	p.Cfg = config.ForPlugin(p.String(), config.WithExtraFlags(func(flags *config.FlagSet) {
		flags.BoolVar(&p.shout, "shout", false, "greet loudly")
	}))
	p.Setup()
	return p
}

func (p *HelloWorld) Init() error {
	p.Log.SetLevel(logging.DebugLevel)
	cfg := Config{Greeting: "Hello"}
	found, err := p.Cfg.LoadValue(&cfg)
	if err != nil {
		p.Log.Error(err)
		return err
	} else if !found {
		p.Log.Warn("Config file not found, using default")
	} else {
		p.Log.Infof("Config file loaded: %+v", cfg)
	}
	p.Log.WithField("shout", p.shout).Debugf("%s %s!", cfg.Greeting, whom)
	p.Log.WithFields(logging.Fields{"config": p.Cfg.GetConfigName() != ""}).Info("configured")
	p.Log.Error(errors.New("an error, as an argument"))
	return nil
}

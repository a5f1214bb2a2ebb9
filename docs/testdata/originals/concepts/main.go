// Command concepts is an agent with what the predecessor's document "Concepts" shows: a
// plugin with a configuration file, a watcher and a publisher of a key-value store, an
// orchestrator with a store, and both clients. The import paths differ, the order of the
// channels of Watch (as the interface has it), and the store, which needs no server here.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/tenuto-dev/tenuto/client/dbclient"
	client "github.com/tenuto-dev/tenuto/client/genericclient"
	"github.com/tenuto-dev/tenuto/client/localclient"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/datasync/kvdbsync"
	"github.com/tenuto-dev/tenuto/infra/health/statuscheck"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
	"github.com/tenuto-dev/tenuto/infra/safeclose"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	linux_interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	vpp_interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Config is the definition of a config-file in the document.
type Config struct {
	DbPath      string        `json:"db-path"`
	FileMode    os.FileMode   `json:"file-mode"`
	LockTimeout time.Duration `json:"lock-timeout"`
}

type Deps struct {
	infra.PluginDeps
	StatusCheck  statuscheck.PluginStatusWriter
	Label        servicelabel.ReaderAPI
	Store        *bolt.Plugin
	Orchestrator *orchestrator.Plugin
	Watcher      datasync.KeyValProtoWatcher
	Publisher    datasync.KeyProtoValWriter
}

type Plugin struct {
	Deps
	resyncEventChannel chan datasync.ResyncEvent
	changeEventChannel chan datasync.ChangeEvent
	changed            chan string
	watchRegistration  datasync.WatchRegistration
	ctx                context.Context
	cancel             context.CancelFunc
}

func New() *Plugin {
	boltDataSync := kvdbsync.NewPlugin(kvdbsync.UseKV(&bolt.DefaultPlugin))
	watchers := datasync.KVProtoWatchers{
		boltDataSync,
	}
	orchestrator.DefaultPlugin.Watcher = watchers
	p := &Plugin{Deps: Deps{
		StatusCheck:  &statuscheck.DefaultPlugin,
		Label:        &servicelabel.DefaultPlugin,
		Store:        &bolt.DefaultPlugin,
		Orchestrator: &orchestrator.DefaultPlugin,
		Watcher:      boltDataSync,
		Publisher:    boltDataSync,
	}}
	p.SetName("concepts")
	p.Setup()
	return p
}

func (p *Plugin) Init() error {
	p.StatusCheck.Register(p.PluginName, nil)
	config := Config{LockTimeout: time.Second}
	found, err := p.Cfg.LoadValue(&config)
	if err != nil {
		return err
	}
	p.Log.Infof("config: %v %s %v %v", found, config.DbPath, config.FileMode, config.LockTimeout)

	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.changed = make(chan string)
	p.resyncEventChannel = make(chan datasync.ResyncEvent)
	p.changeEventChannel = make(chan datasync.ChangeEvent)
	keyPrefixes := []string{"greetings/"}
	go p.watchEvents()
	p.watchRegistration, err = p.Watcher.Watch("plugin-resync-name", p.changeEventChannel, p.resyncEventChannel, keyPrefixes...)
	return err
}

func (p *Plugin) AfterInit() error {
	go p.run()
	return nil
}

func (p *Plugin) Close() error {
	p.cancel()
	return safeclose.CloseAll(p.watchRegistration)
}

func (p *Plugin) watchEvents() {
	for {
		select {
		case e := <-p.resyncEventChannel:
			e.Done(nil)
			p.changed <- "resync"
		case e := <-p.changeEventChannel:
			for _, change := range e.GetChanges() {
				p.changed <- change.GetKey()
			}
			e.Done(nil)
		case <-p.ctx.Done():
			return
		}
	}
}

func (p *Plugin) run() {
	p.Log.Infof("event: %s", <-p.changed)
	if err := p.Publisher.Put("greetings/hello", &vpp_interfaces.Interface{Name: "hello"}); err != nil {
		p.Log.Error(err)
	}
	p.Log.Infof("event: %s", <-p.changed)
	if err := p.Publisher.Put("greetings/hello", nil); err != nil {
		p.Log.Error(err)
	}
	p.Log.Infof("event: %s", <-p.changed)

	err := localclient.DataResyncRequest("concepts").
		VppInterface(&vpp_interfaces.Interface{Name: "local"}).
		LinuxInterface(&linux_interfaces.Interface{Name: "host"}).
		Send().ReceiveReply()
	if err != nil {
		p.Log.Error(err)
	}
	broker := p.Store.NewBroker(p.Label.GetAgentPrefix())
	err = dbclient.DataChangeRequestDB("concepts", broker).
		Put().
		VppInterface(&vpp_interfaces.Interface{Name: "remote"}).
		Send().ReceiveReply()
	if err != nil {
		p.Log.Error(err)
	}
	var config configurator.Config
	if err := client.LocalClient.GetFilteredConfig(client.Filter{}, &config); err != nil {
		p.Log.Error(err)
	}
	p.Log.Infof("local configuration: %s, %s", config.VppConfig.Interfaces[0].Name, config.LinuxConfig.Interfaces[0].Name)
	p.StatusCheck.ReportStateChange(p.PluginName, statuscheck.OK, nil)
	p.Log.Info("done")
}

func main() {
	a := agent.NewAgent(agent.AllPlugins(New()))
	if err := a.Run(); err != nil {
		log.Fatalln(err)
	}
}

// Command 101_custom-vppagent is the tutorial of the predecessor about an agent of one's
// own, with other import paths: the plugins of VPP and Linux, and etcd as the source of the
// configuration.
package main

import (
	"log"

	"github.com/tenuto-dev/tenuto/client/localclient"
	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/datasync/kvdbsync"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	vpp_interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	vpp_l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

func main() {
	a := agent.NewAgent(agent.AllPlugins(New()))
	if err := a.Run(); err != nil {
		log.Fatalln(err)
	}
}

type CustomAgent struct {
	infra.PluginDeps
	app.VPP
	app.Linux

	Orchestrator *orchestrator.Plugin
	KVDBSync     *kvdbsync.Plugin
}

func New() *CustomAgent {
	etcdDataSync := kvdbsync.NewPlugin(kvdbsync.UseKV(&etcd.DefaultPlugin))
	orchestrator.DefaultPlugin.Watcher = datasync.KVProtoWatchers{
		etcdDataSync,
	}
	p := &CustomAgent{
		VPP:          app.DefaultVPP(),
		Linux:        app.DefaultLinux(),
		Orchestrator: &orchestrator.DefaultPlugin,
		KVDBSync:     etcdDataSync,
	}
	p.SetName("custom-agent")
	return p
}

func (p *CustomAgent) Init() error {
	p.Log.Info("Initializing agent")
	return nil
}

func (p *CustomAgent) AfterInit() error {
	err := localclient.DataChangeRequest("custom-agent").
		Put().
		VppInterface(&vpp_interfaces.Interface{Name: "loop1", Type: vpp_interfaces.Interface_SOFTWARE_LOOPBACK, Enabled: true}).
		BD(&vpp_l2.BridgeDomain{Name: "bd1", Interfaces: []*vpp_l2.BridgeDomain_Interface{{Name: "loop1"}}}).
		Send().ReceiveReply()
	if err != nil {
		p.Log.Error(err)
	}
	p.Log.Info("Agent is ready")
	return nil
}

func (p *CustomAgent) Close() error {
	p.Log.Info("Closing agent")
	return nil
}

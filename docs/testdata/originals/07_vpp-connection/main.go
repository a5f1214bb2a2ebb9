// Command 07_vpp-connection is the tutorial of the predecessor about channels of govpp,
// with other import paths.
package main

import (
	"log"

	govppapi "go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
)

func main() {
	p := &HelloWorld{
		GoVPPMux: &govppmux.DefaultPlugin,
	}
	p.SetName("helloworld")
	p.Setup()
	a := agent.NewAgent(agent.AllPlugins(p))
	if err := a.Run(); err != nil {
		log.Fatalln(err)
	}
}

// API is what the plugin needs of govppmux.
type API interface {
	NewAPIChannel() (govppapi.Channel, error)
}

type HelloWorld struct {
	infra.PluginDeps
	vppChan  govppapi.Channel
	GoVPPMux API
}

func (p *HelloWorld) Init() (err error) {
	p.Log.Println("Hello World!")
	if p.vppChan, err = p.GoVPPMux.NewAPIChannel(); err != nil {
		panic(err)
	}
	return nil
}

func (p *HelloWorld) AfterInit() error {
	p.syncVppCall()
	p.asyncVppCall()
	p.multiRequestCall()
	return nil
}

func (p *HelloWorld) Close() error {
	p.Log.Println("Goodbye World!")
	p.vppChan.Close()
	return nil
}

func (p *HelloWorld) syncVppCall() {
	request := &interfaces.CreateLoopback{}
	reply := &interfaces.CreateLoopbackReply{}
	if err := p.vppChan.SendRequest(request).ReceiveReply(reply); err != nil {
		p.Log.Error(err)
		return
	}
	p.Log.Infof("Sync call created loopback with index %d", reply.SwIfIndex)
}

func (p *HelloWorld) asyncVppCall() {
	reply1 := &interfaces.CreateLoopbackReply{}
	reply2 := &interfaces.CreateLoopbackReply{}
	reqCtx1 := p.vppChan.SendRequest(&interfaces.CreateLoopback{})
	reqCtx2 := p.vppChan.SendRequest(&interfaces.CreateLoopback{})
	if err := reqCtx1.ReceiveReply(reply1); err != nil {
		p.Log.Error(err)
		return
	}
	if err := reqCtx2.ReceiveReply(reply2); err != nil {
		p.Log.Error(err)
		return
	}
	p.Log.Infof("Async call created loopbacks with indexes %d and %d", reply1.SwIfIndex, reply2.SwIfIndex)
}

func (p *HelloWorld) multiRequestCall() {
	var indexes []interface_types.InterfaceIndex
	reqCtx := p.vppChan.SendMultiRequest(&interfaces.SwInterfaceDump{})
	for {
		details := &interfaces.SwInterfaceDetails{}
		last, err := reqCtx.ReceiveReply(details)
		if last {
			break
		}
		if err != nil {
			p.Log.Error(err)
			return
		}
		indexes = append(indexes, details.SwIfIndex)
	}
	p.Log.Infof("Multi call found interfaces %v", indexes)
}

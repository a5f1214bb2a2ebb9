// Command 08_grpc is the tutorial of the predecessor about its gRPC client, with other
// import paths.
package main

import (
	"context"
	"flag"
	"log"

	"google.golang.org/grpc"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
	vpp_interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

var address = flag.String("address", "127.0.0.1:9111", "address of the agent")

func main() {
	p := &ClientPlugin{}
	p.SetName("client")
	p.Setup()
	a := agent.NewAgent(agent.AllPlugins(p))
	if err := a.Run(); err != nil {
		log.Fatalln(err)
	}
}

type ClientPlugin struct {
	infra.PluginDeps
	connection *grpc.ClientConn
}

func (p *ClientPlugin) Init() (err error) {
	p.connection, err = grpc.Dial(*address, grpc.WithInsecure())
	return err
}

func (p *ClientPlugin) AfterInit() error {
	client := configurator.NewConfiguratorServiceClient(p.connection)
	update := &configurator.UpdateRequest{
		Update: &configurator.Config{
			VppConfig: &vpp.ConfigData{
				Interfaces: []*vpp_interfaces.Interface{{
					Name: "interface1", Type: vpp_interfaces.Interface_SOFTWARE_LOOPBACK, Enabled: true,
				}},
			},
		},
		FullResync: true,
	}
	if _, err := client.Update(context.Background(), update); err != nil {
		p.Log.Error(err)
		return err
	}
	resp, err := client.Get(context.Background(), &configurator.GetRequest{})
	if err != nil {
		return err
	}
	for _, iface := range resp.GetConfig().GetVppConfig().GetInterfaces() {
		p.Log.Infof("Configured %s", iface.Name)
	}
	dump, err := client.Dump(context.Background(), &configurator.DumpRequest{})
	if err != nil {
		return err
	}
	p.Log.Infof("Dumped %d interfaces", len(dump.GetDump().GetVppConfig().GetInterfaces()))
	return nil
}

func (p *ClientPlugin) Close() error {
	return p.connection.Close()
}

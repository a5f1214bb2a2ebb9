// Command 05_kv-scheduler is the code of the predecessor's tutorial "KV Scheduler" as the
// document has it: only the import paths are changed. It ignores the errors of
// RegisterKVDescriptor, and its descriptors have no Delete.
package main

import (
	"context"
	"strings"

	"github.com/golang/protobuf/proto"

	"github.com/tenuto-dev/tenuto/examples/tutorials/05_kv-scheduler/descriptor/adapter"
	"github.com/tenuto-dev/tenuto/examples/tutorials/05_kv-scheduler/model"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

const (
	ifDescriptorName    = "if-descriptor"
	ifPrefix            = "/interface/"
	routeDescriptorName = "route-descriptor"
	routePrefix         = "/route/"

	routeInterfaceDepLabel = "route-interface"
)

func NewIfDescriptor(logger logging.PluginLogger) *api.KVDescriptor {
	typedDescriptor := &adapter.InterfaceDescriptor{
		Name:          ifDescriptorName,
		NBKeyPrefix:   ifPrefix,
		ValueTypeName: proto.MessageName(&model.Interface{}),
		KeyLabel: func(key string) string {
			return strings.TrimPrefix(key, ifPrefix)
		},
		KeySelector: func(key string) bool {
			if strings.HasPrefix(key, ifPrefix) {
				return true
			}
			return false
		},
		WithMetadata: true,
		Create: func(key string, value *model.Interface) (metadata interface{}, err error) {
			logger.Infof("Interface %s created", value.Name)
			return value.Name, nil
		},
	}
	return adapter.NewInterfaceDescriptor(typedDescriptor)
}

type RouteDescriptor struct {
	// dependencies
	log logging.PluginLogger
}

func NewRouteDescriptor(logger logging.PluginLogger) *api.KVDescriptor {
	descriptorCtx := &RouteDescriptor{
		log: logger,
	}
	typedDescriptor := &adapter.RouteDescriptor{
		Name:                 routeDescriptorName,
		NBKeyPrefix:          routePrefix,
		ValueTypeName:        proto.MessageName(&model.Route{}),
		KeyLabel:             descriptorCtx.KeyLabel,
		KeySelector:          descriptorCtx.KeySelector,
		Dependencies:         descriptorCtx.Dependencies,
		Create:               descriptorCtx.Create,
		RetrieveDependencies: []string{ifDescriptorName},
	}
	return adapter.NewRouteDescriptor(typedDescriptor)
}

func (d *RouteDescriptor) KeyLabel(key string) string {
	return strings.TrimPrefix(key, routePrefix)
}

func (d *RouteDescriptor) KeySelector(key string) bool {
	if strings.HasPrefix(key, routePrefix) {
		return true
	}
	return false
}

func (d *RouteDescriptor) Dependencies(key string, value *model.Route) []api.Dependency {
	return []api.Dependency{
		{
			Label: routeInterfaceDepLabel,
			Key:   ifPrefix + value.InterfaceName,
		},
	}
}

func (d *RouteDescriptor) Create(key string, value *model.Route) (metadata interface{}, err error) {
	d.log.Infof("Created route %s dependent on interface %s", value.Name, value.InterfaceName)
	return nil, nil
}

type HelloWorld struct {
	infra.PluginDeps
	KVScheduler api.KVScheduler
}

func (p *HelloWorld) Init() error {
	p.Log.Println("Hello World!")

	err := p.KVScheduler.RegisterKVDescriptor(NewIfDescriptor(p.Log))
	if err != nil {
		// handle error
	}

	err = p.KVScheduler.RegisterKVDescriptor(NewRouteDescriptor(p.Log))
	if err != nil {
		// handle error
	}

	return nil
}

func (p *HelloWorld) AfterInit() error {
	go p.threeCases()
	return nil
}

func (p *HelloWorld) threeCases() {
	txn := p.KVScheduler.StartNBTransaction()
	txn.SetValue(ifPrefix+"if1", &model.Interface{Name: "if1"})
	txn.SetValue(routePrefix+"route1", &model.Route{Name: "route1", InterfaceName: "if1"})
	_, err := txn.Commit(context.Background())
	if err != nil {
		p.Log.Error(err.Error())
	}
}

func main() {
	p := &HelloWorld{}
	p.SetName("helloworld")
	p.KVScheduler = &kvscheduler.DefaultPlugin
	a := agent.NewAgent(agent.AllPlugins(p))
	if err := a.Run(); err != nil {
		panic(err)
	}
}

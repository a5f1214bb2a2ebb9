package main

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/examples/tutorials/05_kv-scheduler/descriptor/adapter"
	"github.com/tenuto-dev/tenuto/examples/tutorials/05_kv-scheduler/model"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

const (
	ifDescriptorName    = "if-descriptor"
	ifPrefix            = "/interface/"
	routeDescriptorName = "route-descriptor"
	routePrefix         = "/route/"

	routeInterfaceDepLabel = "route-interface"
)

// NewIfDescriptor describes interfaces. All methods are written into the
// constructor, which is fine while they are few and short.
func NewIfDescriptor(logger logging.PluginLogger) *api.KVDescriptor {
	typedDescriptor := &adapter.InterfaceDescriptor{
		// Unique among all descriptors.
		Name: ifDescriptorName,
		// The keys that the northbound sends for this descriptor begin with it.
		NBKeyPrefix:   ifPrefix,
		ValueTypeName: string(proto.MessageName(&model.Interface{})),
		// A short name, unique among interfaces.
		KeyLabel: func(key string) string {
			return strings.TrimPrefix(key, ifPrefix)
		},
		// Which keys are described; a key belongs to one descriptor at most.
		KeySelector: func(key string) bool {
			return strings.HasPrefix(key, ifPrefix)
		},
		// Create returns metadata, here the name of the interface.
		WithMetadata: true,
		Create: func(key string, value *model.Interface) (metadata any, err error) {
			logger.Infof("Interface %s created", value.Name)
			return value.Name, nil
		},
		// What can be created must be removable.
		Delete: func(key string, value *model.Interface, metadata any) error {
			logger.Infof("Interface %s removed", value.Name)
			return nil
		},
	}
	return adapter.NewInterfaceDescriptor(typedDescriptor)
}

// RouteDescriptor describes routes. Its methods are referred to in the
// constructor; this is the form to prefer.
type RouteDescriptor struct {
	// dependencies
	log logging.PluginLogger
}

// NewRouteDescriptor describes routes; each depends on its interface.
func NewRouteDescriptor(logger logging.PluginLogger) *api.KVDescriptor {
	descriptorCtx := &RouteDescriptor{
		log: logger,
	}
	typedDescriptor := &adapter.RouteDescriptor{
		Name:          routeDescriptorName,
		NBKeyPrefix:   routePrefix,
		ValueTypeName: string(proto.MessageName(&model.Route{})),
		KeyLabel:      descriptorCtx.KeyLabel,
		KeySelector:   descriptorCtx.KeySelector,
		Dependencies:  descriptorCtx.Dependencies,
		Create:        descriptorCtx.Create,
		Delete:        descriptorCtx.Delete,
		// Interfaces are read back before routes.
		RetrieveDependencies: []string{ifDescriptorName},
	}
	return adapter.NewRouteDescriptor(typedDescriptor)
}

// KeyLabel is the name of the route.
func (d *RouteDescriptor) KeyLabel(key string) string {
	return strings.TrimPrefix(key, routePrefix)
}

// KeySelector selects the keys of routes.
func (d *RouteDescriptor) KeySelector(key string) bool {
	return strings.HasPrefix(key, routePrefix)
}

// Dependencies: the route is not created before its interface, and removed
// before it.
func (d *RouteDescriptor) Dependencies(key string, value *model.Route) []api.Dependency {
	return []api.Dependency{
		{
			Label: routeInterfaceDepLabel,
			Key:   ifPrefix + value.InterfaceName,
		},
	}
}

// Create would configure the route; routes have no metadata.
func (d *RouteDescriptor) Create(key string, value *model.Route) (metadata any, err error) {
	d.log.Infof("Created route %s dependent on interface %s", value.Name, value.InterfaceName)
	return nil, nil
}

// Delete would remove the route.
func (d *RouteDescriptor) Delete(key string, value *model.Route, metadata any) error {
	d.log.Infof("Route %s removed", value.Name)
	return nil
}

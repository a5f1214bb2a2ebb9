// Package dumpapi is the plugin with the HTTP endpoints that return the actual items of
// VPP and Linux by kind, in the JSON that existing clients expect, and the JSON Schema of
// the configuration.
//
// The endpoints of the scheduler use keys and values; these use kinds of items:
// /dump/vpp/v2/interfaces, /dump/linux/v2/routes. A dump reads the southbound; while that
// is disconnected the response is 503.
package dumpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/govppmux"
)

// Plugin adds the endpoints in its AfterInit, when all descriptors are there.
type Plugin struct {
	Deps
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	HTTP      rest.HTTPHandlers
	Scheduler Scheduler
	// Codec knows the models; nil: all there are.
	Codec *document.Codec `optional:"true"`
	// Interfaces reports of interfaces of VPP what is no part of their
	// configuration; without it that is left out.
	Interfaces VPPInterfaces `optional:"true"`
	// Links reports of links of Linux what is no part of their configuration; without it
	// that is left out.
	Links LinuxLinks `optional:"true"`
	// VPP reports the connection to it; nil: that is not shown.
	VPP VPPStats `optional:"true"`
}

// Scheduler is the part of the scheduler that is used.
type Scheduler interface {
	ListDescriptors() []*api.KVDescriptor
	DumpValuesByDescriptor(descriptor string, view api.View) ([]api.KVWithMetadata, error)
}

// VPPInterfaces reads interfaces from VPP.
type VPPInterfaces interface {
	DumpInterfaces(ctx context.Context) ([]vppcalls.Details, error)
}

// LinuxLinks finds the links of interfaces of Linux.
type LinuxLinks interface {
	// Link returns the link of the interface that the configuration knows by the name.
	Link(name string) (netlinkapi.Link, error)
}

var _ infra.PostInit = (*Plugin)(nil)

// Init makes sure that there are models.
func (p *Plugin) Init() error {
	if p.Codec == nil {
		set, err := allmodels.Set()
		if err != nil {
			return fmt.Errorf("models: %w", err)
		}
		p.Codec = document.New(set)
	}
	return nil
}

// AfterInit adds the endpoints: a dump for each kind of items that the agent has
// a descriptor for.
func (p *Plugin) AfterInit() error {
	endpoints := []rest.Endpoint{{
		Path: "/info/configuration/jsonschema", Groups: []string{rest.GroupInfo}, Handler: p.schema, Query: []string{"fieldnames"}, Response: map[string]any{},
		Doc: "the JSON Schema of configurations; ?fieldnames=onlyproto|onlyjson for one of the two names of fields",
	}}
	if p.VPP != nil {
		endpoints = append(endpoints, rest.Endpoint{
			Path: "/metrics/{metric}", Groups: []string{rest.GroupTelemetry}, Handler: p.metric, Response: &pb.Metrics{},
			Doc: "metrics that have a model: " + vppMetric + ", the connection to VPP; all others are at /metrics",
		})
	}
	descriptors := p.descriptors()
	for _, d := range dumps {
		descriptor, ok := descriptors[d.model]
		if !ok {
			continue
		}
		endpoints = append(endpoints, rest.Endpoint{
			Path: d.path, Groups: []string{rest.GroupDump}, Query: []string{rest.ShowSecretsParameter}, Doc: d.doc,
			Handler: func(w http.ResponseWriter, r *http.Request) { p.dump(w, r, d, descriptor) },
		})
	}
	return p.HTTP.Register(p.String(), endpoints...)
}

// descriptors returns the names of the descriptors that can read the southbound,
// by the names of their models.
func (p *Plugin) descriptors() map[string]string {
	byPrefix := map[string]models.Known{}
	for _, m := range p.Codec.Models().All() {
		byPrefix[m.KeyPrefix()] = m
	}
	found := map[string]string{}
	for _, d := range p.Scheduler.ListDescriptors() {
		if m, ok := byPrefix[d.NBKeyPrefix]; ok && d.Retrieves() {
			found[m.Spec().ModelName()] = d.Name
		}
	}
	return found
}

// fieldNames reads the parameter of the schema.
func fieldNames(text string) (document.FieldNames, error) {
	switch text {
	case "":
		return document.BothNames, nil
	case "onlyproto":
		return document.ProtoNames, nil
	case "onlyjson":
		return document.JSONNames, nil
	}
	return 0, fmt.Errorf("parameter fieldnames: %q: expected onlyproto or onlyjson", text)
}

func (p *Plugin) schema(w http.ResponseWriter, r *http.Request) {
	names, err := fieldNames(r.URL.Query().Get("fieldnames"))
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, p.Codec.Schema(names))
}

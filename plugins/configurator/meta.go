package configurator

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/tenuto-dev/tenuto/client/southbound"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	"github.com/tenuto-dev/tenuto/proto/ligato/govppmux"
)

// metaService describes the models.
type metaService struct {
	generic.UnimplementedMetaServiceServer
	p *Plugin
}

// KnownModels lists the models of a class, sorted by their keys, and the modules
// that have a descriptor.
func (s *metaService) KnownModels(ctx context.Context, req *generic.KnownModelsRequest) (*generic.KnownModelsResponse, error) {
	resp := &generic.KnownModelsResponse{}
	c := clientOf(ctx)
	defer c.reportOmitted(ctx)
	for _, m := range s.p.Orchestrator.Models().All() {
		if (req.GetClass() == "" || m.Spec().Class == req.GetClass()) && c.knowsModel(m) {
			template, _ := c.nameTemplate(m)
			resp.KnownModels = append(resp.KnownModels, detail(m, template))
		}
	}
	if req.GetClass() == "" || req.GetClass() == metricsClass {
		resp.KnownModels = append(resp.KnownModels, metricsModel())
	}
	active := map[string]bool{}
	for _, d := range s.p.Scheduler.ListDescriptors() {
		if m, ok := southbound.ModelOf(s.p.Orchestrator.Models(), d.NBKeyPrefix); ok && c.knowsModel(m) {
			active[m.Spec().Module] = true
		}
	}
	resp.ActiveModules = slices.Sorted(maps.Keys(active))
	return resp, nil
}

// metricsClass is the class of metrics among the models. "agentctl metrics list" of the
// predecessor shows the models of this class.
const metricsClass = "metrics"

// metricsModel describes the metrics of the connection to VPP; REST serves them at
// /metrics/govppmux.stats.
func metricsModel() *generic.ModelDetail {
	d := (&govppmux.Metrics{}).ProtoReflect().Descriptor()
	return &generic.ModelDetail{
		Spec:      &generic.ModelSpec{Module: "govppmux", Type: "stats", Class: metricsClass},
		ProtoName: string(d.FullName()),
		Options:   []*generic.ModelDetail_Option{{Key: "protoFile", Values: []string{d.ParentFile().Path()}}},
	}
}

func detail(m models.Known, nameTemplate string) *generic.ModelDetail {
	spec := m.Spec()
	d := &generic.ModelDetail{
		Spec:      &generic.ModelSpec{Module: spec.Module, Version: spec.Version, Type: spec.Type, Class: spec.Class},
		ProtoName: string(m.ProtoName()),
		Options: []*generic.ModelDetail_Option{
			{Key: "protoFile", Values: []string{m.NewInstance().ProtoReflect().Descriptor().ParentFile().Path()}},
		},
	}
	if nameTemplate != "" {
		d.Options = append(d.Options, &generic.ModelDetail_Option{Key: "nameTemplate", Values: []string{nameTemplate}})
	}
	return d
}

// ProtoFileDescriptor describes a .proto file, and those it needs, as far as the client knows
// them.
func (s *metaService) ProtoFileDescriptor(ctx context.Context, req *generic.ProtoFileDescriptorRequest) (*generic.ProtoFileDescriptorResponse, error) {
	file, err := descriptors(ctx).FindFileByPath(req.GetFullProtoFileName())
	if err != nil {
		return nil, status.Errorf(codes.NotFound, "full_proto_file_name: %q: no such file", shorten(req.GetFullProtoFileName()))
	}
	resp := &generic.ProtoFileDescriptorResponse{
		FileDescriptor:        protodesc.ToFileDescriptorProto(file),
		FileImportDescriptors: &descriptorpb.FileDescriptorSet{},
	}
	seen := map[string]bool{file.Path(): true}
	addImports(file, seen, resp.FileImportDescriptors)
	return resp, nil
}

// addImports adds what a file imports, each file after those it imports itself.
func addImports(file protoreflect.FileDescriptor, seen map[string]bool, to *descriptorpb.FileDescriptorSet) {
	imports := file.Imports()
	for i := range imports.Len() {
		f := imports.Get(i).FileDescriptor
		if seen[f.Path()] {
			continue
		}
		seen[f.Path()] = true
		addImports(f, seen, to)
		to.File = append(to.File, protodesc.ToFileDescriptorProto(f))
	}
}

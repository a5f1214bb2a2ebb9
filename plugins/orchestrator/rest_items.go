package orchestrator

import (
	"fmt"
	"net/http"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// itemEndpoints returns the endpoints about single items and their models.
func (p *Plugin) itemEndpoints() []rest.Endpoint {
	return []rest.Endpoint{
		{Path: "/configuration/items", Groups: []string{rest.GroupConfigRead}, Handler: p.getItems,
			Query: []string{"key...", rest.ShowSecretsParameter}, Response: []response.SourcedItem{},
			Doc: "the source of each item, and the sources that it overrides; ?key=K (repeatable) for some items with their values"},
		{Path: "/info/models", Groups: []string{rest.GroupInfo}, Handler: p.getModels, Query: []string{"descriptors"}, Response: response.Models{},
			Doc: "the models of the agent; ?descriptors for the descriptors of their messages, a google.protobuf.FileDescriptorSet in base64"},
	}
}

func (p *Plugin) getItems(w http.ResponseWriter, r *http.Request) {
	rest.WriteJSON(w, http.StatusOK, p.items(r.URL.Query()["key"], rest.ShowSecrets(r)))
}

// items returns the items in effect for some keys with their values, or all without.
func (p *Plugin) items(keys []string, secrets bool) []response.SourcedItem {
	items := []response.SourcedItem{}
	if len(keys) == 0 {
		for _, it := range p.Sourced("") {
			items = append(items, it.response(nil))
		}
		return items
	}
	text := func(val proto.Message) (string, error) {
		if !secrets {
			val, _ = logging.HideSecrets(val)
		}
		yaml, err := document.EncodeItem(val)
		return string(yaml), err
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, key := range keys {
		if it := p.store.sourced(key); len(it.Sources) > 0 {
			items = append(items, it.response(text))
		}
	}
	return items
}

// response returns the items for REST. text returns their values; nil omits them.
func (it SourcedItem) response(text func(proto.Message) (string, error)) response.SourcedItem {
	all := make([]response.ItemSource, len(it.Sources))
	for i, src := range it.Sources {
		all[i] = response.ItemSource{Source: src.Source, Location: src.Location.Text(it.Key), Labels: src.Labels}
		if text != nil {
			var err error
			if all[i].Value, err = text(src.Val); err != nil {
				all[i].Value = fmt.Sprintf("# %v\n", err)
			}
		}
	}
	return response.SourcedItem{Key: it.Key, ItemSource: all[0], Shadowed: all[1:]}
}

func (p *Plugin) getModels(w http.ResponseWriter, r *http.Request) {
	described, err := boolean(r, "descriptors")
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	answer, files := response.Models{}, &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	for _, m := range p.Codec.Models().All() {
		model := DescribeModel(m)
		if described {
			model.Schema = m.Spec().Schema
			addFile(m.NewInstance().ProtoReflect().Descriptor().ParentFile(), seen, files)
		}
		answer.Models = append(answer.Models, model)
	}
	if described {
		if answer.Descriptors, err = proto.Marshal(files); err != nil {
			rest.WriteError(w, http.StatusInternalServerError, err)
			return
		}
	}
	rest.WriteJSON(w, http.StatusOK, answer)
}

// DescribeModel describes a model for clients.
func DescribeModel(m models.Known) response.Model {
	spec := m.Spec()
	return response.Model{
		Name: spec.ModelName(), Class: spec.Class, Module: spec.Module, Type: spec.Type, Version: spec.Version,
		KeyPrefix: m.KeyPrefix(), NameTemplate: allmodels.TemplateOf(m), Singleton: m.Singleton(),
		ProtoName: string(m.ProtoName()), ProtoFile: m.NewInstance().ProtoReflect().Descriptor().ParentFile().Path(),
	}
}

// addFile adds a file after those that it imports.
func addFile(file protoreflect.FileDescriptor, seen map[string]bool, to *descriptorpb.FileDescriptorSet) {
	if seen[file.Path()] {
		return
	}
	seen[file.Path()] = true
	for i := range file.Imports().Len() {
		addFile(file.Imports().Get(i).FileDescriptor, seen, to)
	}
	to.File = append(to.File, protodesc.ToFileDescriptorProto(file))
}

// Package custommodel makes models from an agent's descriptions of its own models, so that
// programs can use models that they were not built with.
package custommodel

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// Model is a model of an agent that this program was not built with.
type Model struct {
	response.Model
	Message protoreflect.MessageDescriptor
	naming  *models.Name // nil: singleton, or without the option (ligato.item)
}

var _ models.Known = (*Model)(nil)

// Spec returns the identity of the model.
func (m *Model) Spec() models.Spec {
	return models.Spec{Module: m.Module, Version: m.Version, Type: m.Type, Class: m.Class}
}

// KeyPrefix returns the beginning of the keys of its items.
func (m *Model) KeyPrefix() string { return m.Model.KeyPrefix }

// Singleton reports whether the model has one item.
func (m *Model) Singleton() bool { return m.Model.Singleton }

// ProtoName returns the name of its message.
func (m *Model) ProtoName() protoreflect.FullName {
	return protoreflect.FullName(m.Model.ProtoName)
}

// NewInstance returns an empty item.
func (m *Model) NewInstance() proto.Message { return dynamicpb.NewMessage(m.Message) }

// Validate checks the specification.
func (m *Model) Validate() error { return m.Spec().Validate() }

// Name returns how names of items are made; nil if that is unknown.
func (m *Model) Name() *models.Name { return m.naming }

// KeyOf returns the key of an item.
func (m *Model) KeyOf(item proto.Message) (string, error) {
	if m.Singleton() {
		return m.KeyPrefix(), nil
	}
	if m.naming != nil && !m.naming.Computed() {
		return string(m.naming.Append([]byte(m.KeyPrefix()), item.ProtoReflect())), nil
	}
	name, err := allmodels.NameFrom(m.NameTemplate, item.ProtoReflect())
	if err != nil {
		return "", fmt.Errorf("model %s: %w", m.Model.Name, err)
	}
	return m.KeyPrefix() + name, nil
}

// Matches reports whether an item can have the key.
func (m *Model) Matches(key string) bool {
	return key == m.KeyPrefix() || !m.Singleton() && strings.HasPrefix(key, m.KeyPrefix())
}

// Label returns the name of the item with a key.
func (m *Model) Label(key string) string {
	if m.Singleton() {
		return key
	}
	return strings.TrimPrefix(key, m.KeyPrefix())
}

// Known returns the models of an agent. custom are those that this program was not built with,
// without their messages.
func Known(theirs response.Models) (known []models.Known, custom []*Model) {
	ours := allmodels.MustSet()
	known = make([]models.Known, len(theirs.Models))
	for i, t := range theirs.Models {
		m, ok := ours.ForName(t.Name)
		if !ok || m.KeyPrefix() != t.KeyPrefix || string(m.ProtoName()) != t.ProtoName {
			c := &Model{Model: t}
			m, custom = c, append(custom, c)
		}
		known[i] = m
	}
	return known, custom
}

// describe adds the messages of custom models.
func describe(descriptors []byte, custom []*Model) error {
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(descriptors, set); err != nil {
		return fmt.Errorf("descriptors of the agent's models: %w", err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return fmt.Errorf("descriptors of the agent's models: %w", err)
	}
	for _, m := range custom {
		d, err := files.FindDescriptorByName(m.ProtoName())
		if err != nil {
			return fmt.Errorf("model %s: %w", m.Model.Name, err)
		}
		message, ok := d.(protoreflect.MessageDescriptor)
		if !ok {
			return fmt.Errorf("model %s: %s is no message", m.Model.Name, d.FullName())
		}
		m.Message = message
		_, m.naming, _ = models.FromOption(message) // an error: the agent's model has a function instead
	}
	return nil
}

// ReadFile reads the models of an agent from the output of "agentctl model export".
func ReadFile(file string) (set *models.Set, custom []*Model, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	var theirs response.Models
	if err := json.Unmarshal(text, &theirs); err != nil {
		return nil, nil, fmt.Errorf("%s: expected the output of 'agentctl model export': %w", file, err)
	}
	if len(theirs.Models) == 0 {
		return nil, nil, fmt.Errorf("%s: expected the output of 'agentctl model export', which lists models", file)
	}
	if set, custom, err = Set(theirs); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return set, custom, nil
}

// Set returns the models of an agent with their messages.
func Set(theirs response.Models) (set *models.Set, custom []*Model, err error) {
	known, custom := Known(theirs)
	if err = describe(theirs.Descriptors, custom); err == nil {
		set, err = models.NewSet(known...)
	}
	return set, custom, err
}

package cmdutil

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// CustomModel is a model of the agent that agentctl was not built with.
type CustomModel struct {
	response.Model
	Message protoreflect.MessageDescriptor
	naming  *models.Name // nil: singleton, or without the option (ligato.item)
}

var _ models.Known = (*CustomModel)(nil)

// Spec returns what identifies the model.
func (m *CustomModel) Spec() models.Spec {
	return models.Spec{Module: m.Module, Version: m.Version, Type: m.Type, Class: m.Class}
}

// KeyPrefix returns the beginning of the keys of its items.
func (m *CustomModel) KeyPrefix() string { return m.Model.KeyPrefix }

// Singleton reports whether the model has one item.
func (m *CustomModel) Singleton() bool { return m.Model.Singleton }

// ProtoName returns the name of its message.
func (m *CustomModel) ProtoName() protoreflect.FullName {
	return protoreflect.FullName(m.Model.ProtoName)
}

// NewInstance returns an empty item.
func (m *CustomModel) NewInstance() proto.Message { return dynamicpb.NewMessage(m.Message) }

// Validate checks the specification.
func (m *CustomModel) Validate() error { return m.Spec().Validate() }

// Name returns how names of items are made; nil if that is unknown.
func (m *CustomModel) Name() *models.Name { return m.naming }

// KeyOf returns the key of an item.
func (m *CustomModel) KeyOf(item proto.Message) (string, error) {
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
func (m *CustomModel) Matches(key string) bool {
	return key == m.KeyPrefix() || !m.Singleton() && strings.HasPrefix(key, m.KeyPrefix())
}

// Label returns the name of the item with a key.
func (m *CustomModel) Label(key string) string {
	if m.Singleton() {
		return key
	}
	return strings.TrimPrefix(key, m.KeyPrefix())
}

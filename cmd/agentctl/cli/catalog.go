package cli

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// modelsTimeout is how long an agent may take to return its models. Commands whose
// agent does not answer, or needs none, use the models that agentctl knows.
const modelsTimeout = 3 * time.Second

// set returns the models of the agent, or without one those that agentctl knows.
func (a *app) set() *models.Set {
	if a.models != nil {
		return a.models
	}
	a.models = allmodels.MustSet()
	if a.client == nil {
		return a.models
	}
	ctx, cancel := context.WithTimeout(a.ctx, modelsTimeout)
	defer cancel()
	set, err := a.agentModels(ctx)
	switch {
	case err == nil:
		a.models = set
	case !client.HasStatus(err, http.StatusNotFound): // an older agent does not list them
		a.modelsErr = err
	}
	return a.models
}

// agentModels asks the agent for its models.
func (a *app) agentModels(ctx context.Context) (*models.Set, error) {
	theirs, err := a.client.Models(ctx, false)
	if err != nil {
		return nil, err
	}
	known, custom := knownModels(theirs)
	if len(custom) > 0 {
		if theirs, err = a.client.Models(ctx, true); err != nil {
			return nil, err
		}
		known, custom = knownModels(theirs) // with their schemas
		if err := describeModels(theirs.Descriptors, custom); err != nil {
			return nil, err
		}
	}
	return models.NewSet(known...)
}

// knownModels returns the models of an agent. custom are those that agentctl was not built
// with, without their messages.
func knownModels(theirs response.Models) (known []models.Known, custom []*customModel) {
	ours := allmodels.MustSet()
	known = make([]models.Known, len(theirs.Models))
	for i, t := range theirs.Models {
		m, ok := ours.ForName(t.Name)
		if !ok || m.KeyPrefix() != t.KeyPrefix || string(m.ProtoName()) != t.ProtoName {
			c := &customModel{Model: t}
			m, custom = c, append(custom, c)
		}
		known[i] = m
	}
	return known, custom
}

// describeModels adds the messages of custom models.
func describeModels(descriptors []byte, custom []*customModel) error {
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
		m.message = message
		_, m.naming, _ = models.FromOption(message) // an error: the agent's model has a function instead
	}
	return nil
}

// customModel is a model of the agent that agentctl was not built with.
type customModel struct {
	response.Model
	message protoreflect.MessageDescriptor
	naming  *models.Name // nil: singleton, or without the option (ligato.item)
}

var _ models.Known = (*customModel)(nil)

func (m *customModel) Spec() models.Spec {
	return models.Spec{Module: m.Module, Version: m.Version, Type: m.Type, Class: m.Class}
}

func (m *customModel) KeyPrefix() string { return m.Model.KeyPrefix }
func (m *customModel) Singleton() bool   { return m.Model.Singleton }
func (m *customModel) ProtoName() protoreflect.FullName {
	return protoreflect.FullName(m.Model.ProtoName)
}
func (m *customModel) NewInstance() proto.Message { return dynamicpb.NewMessage(m.message) }
func (m *customModel) Validate() error            { return m.Spec().Validate() }

func (m *customModel) Name() *models.Name { return m.naming }

func (m *customModel) KeyOf(item proto.Message) (string, error) {
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

func (m *customModel) Matches(key string) bool {
	return key == m.KeyPrefix() || !m.Singleton() && strings.HasPrefix(key, m.KeyPrefix())
}

func (m *customModel) Label(key string) string {
	if m.Singleton() {
		return key
	}
	return strings.TrimPrefix(key, m.KeyPrefix())
}

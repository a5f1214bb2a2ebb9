// Package southbound reads the items of models from the southbound: the actual
// configuration, regardless of its creator.
package southbound

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Scheduler is the part of the scheduler that is used.
type Scheduler interface {
	ListDescriptors() []*api.KVDescriptor
	DumpValuesByDescriptor(descriptor string, view api.View) ([]api.KVWithMetadata, error)
}

// ModelOf returns the model that a descriptor with the key prefix is for.
func ModelOf(set *models.Set, prefix string) (models.Known, bool) {
	if prefix == "" {
		return nil, false
	}
	if m, ok := set.ForKey(prefix); ok && m.Singleton() {
		return m, true
	}
	return set.ForKey(strings.TrimSuffix(prefix, "/") + "/x")
}

// Read reads the items of the models with the names in wanted, or of all if that
// is nil, sorted by model and key. unread has the models that could not be read,
// with the reason.
func Read(set *models.Set, s Scheduler, wanted map[string]bool) (found []api.KVWithMetadata, unread []error) {
	for _, d := range s.ListDescriptors() {
		model, ok := ModelOf(set, d.NBKeyPrefix)
		if !ok || !d.Retrieves() || wanted != nil && !wanted[model.Spec().ModelName()] {
			continue
		}
		kvs, err := s.DumpValuesByDescriptor(d.Name, api.SBView)
		if err != nil {
			unread = append(unread, fmt.Errorf("%s: %w", model.Spec().ModelName(), err))
			continue
		}
		for _, kv := range kvs {
			if model.Matches(kv.Key) && kv.Value != nil {
				found = append(found, kv)
			}
		}
	}
	return found, unread
}

// Text makes text of the fields of metadata, for people.
func Text(meta api.Metadata) map[string]string {
	text, err := json.Marshal(meta)
	if meta == nil || err != nil {
		return nil // metadata without such a form is left out
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return map[string]string{"value": string(text)}
	}
	flat := make(map[string]string, len(fields))
	for name, raw := range fields {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		flat[name] = s
	}
	return flat
}

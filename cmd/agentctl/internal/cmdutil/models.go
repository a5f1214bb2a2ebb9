package cmdutil

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/suggest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/custommodel"
)

// modelsTimeout is how long an agent may take to return its models. Commands whose
// agent does not answer, or needs none, use the models that agentctl knows.
const modelsTimeout = 3 * time.Second

// Models are the models of the agent. They are read when a command needs them.
type Models struct {
	ctx    context.Context // of the run
	client *client.Client  // nil: no agent is asked
	set    *models.Set     // nil: not known yet
	err    error           // why the models of the agent could not be read
}

// Use replaces the models of the agent by a set.
func (m *Models) Use(set *models.Set) { m.set = set }

// Err returns why the models of the agent could not be read; nil: no error.
func (m *Models) Err() error { return m.err }

// Set returns the models of the agent, or without one those that agentctl knows.
func (m *Models) Set() *models.Set {
	if m.set != nil {
		return m.set
	}
	m.set = allmodels.MustSet()
	if m.client == nil {
		return m.set
	}
	ctx, cancel := context.WithTimeout(m.ctx, modelsTimeout)
	defer cancel()
	set, err := m.ofAgent(ctx)
	if err == nil {
		m.set = set
	}
	m.err = err
	return m.set
}

// ofAgent asks the agent for its models.
func (m *Models) ofAgent(ctx context.Context) (*models.Set, error) {
	theirs, err := m.client.Agent.Models(ctx, false)
	if err != nil {
		return nil, err
	}
	known, custom := custommodel.Known(theirs)
	if len(custom) == 0 {
		return models.NewSet(known...)
	}
	if theirs, err = m.client.Agent.Models(ctx, true); err != nil {
		return nil, err
	}
	set, _, err := custommodel.Set(theirs) // with their schemas
	return set, err
}

// Select returns the models whose names match one of the patterns; all
// models without patterns.
func (m *Models) Select(patterns []string) ([]models.Known, error) {
	set := m.Set()
	if len(patterns) == 0 {
		return set.All(), nil
	}
	matched := map[string]bool{}
	for _, pattern := range patterns {
		n := 0
		for _, m := range set.All() {
			name := m.Spec().ModelName()
			ok, err := path.Match(pattern, name)
			if err != nil {
				return nil, exit.Usagef("%q: malformed pattern", pattern)
			}
			if ok || pattern == "all" {
				n++
				matched[name] = true
			}
		}
		if n == 0 {
			return nil, NoModel(set, pattern)
		}
	}
	others := func(m models.Known) bool { return !matched[m.Spec().ModelName()] }
	return slices.DeleteFunc(slices.Clone(set.All()), others), nil
}

// NoModelError is the error for the name of a model that does not exist.
type NoModelError struct{ error }

// maxModels is the number of models that an error names.
const maxModels = 6

// NoModel returns the error for the name of a model that does not exist. It suggests the models
// whose names contain it, or else a similar one.
func NoModel(set *models.Set, name string) error {
	for _, with := range [][]string{suggest.WithElement(name, names(set)), suggest.WithPart(name, names(set))} {
		if len(with) > 0 {
			return NoModelError{fmt.Errorf("no model %q, did you mean %s?", name, listed(with))}
		}
	}
	if near := suggest.ByParts(name, names(set)); near != "" {
		return NoModelError{fmt.Errorf("no model %q, did you mean %q?", name, near)}
	}
	return NoModelError{fmt.Errorf("no model %q; 'agentctl model list' has their names", name)}
}

// listed joins names for a question, and counts those that are too many.
func listed(names []string) string {
	if more := len(names) - maxModels; more > 0 {
		return strings.Join(names[:maxModels], ", ") + fmt.Sprintf(" or %d more ('agentctl model list')", more)
	}
	last := len(names) - 1
	if last == 0 {
		return strconv.Quote(names[0])
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func names(set *models.Set) (names []string) {
	for _, m := range set.All() {
		names = append(names, m.Spec().ModelName())
	}
	return names
}

// NameOf splits a key into the names of its model and its item. Keys of values
// without a model and of singletons are not split.
func (m *Models) NameOf(key string) (model, name string) {
	known, ok := m.Set().ForKey(key)
	if !ok {
		return "", key
	}
	return known.Spec().ModelName(), known.Label(key)
}

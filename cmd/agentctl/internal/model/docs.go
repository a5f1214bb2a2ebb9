package model

import (
	"context"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/infra/models"
)

// Explained is what "agentctl explain" says about a model.
type Explained struct {
	models.Known
	Key   string // what its keys look like
	Place string // where the items are in a file
	Text  string
}

// ExplainAll explains the models of configuration, for documentation.
func ExplainAll(ctx context.Context, f *cmdutil.Factory) (all []Explained, err error) {
	e, err := newExplainer(ctx, f)
	if err != nil {
		return nil, err
	}
	for _, m := range e.set.All() {
		if m.Spec().Class != "config" {
			continue
		}
		x, err := e.explain(m.Spec().ModelName())
		if err != nil {
			return nil, err
		}
		all = append(all, Explained{m, x.Keys, x.InFiles, x.text()})
	}
	return all, nil
}

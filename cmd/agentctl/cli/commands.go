package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/infra/models"
)

// Commands returns the tree of all commands, for documentation and its checks.
func Commands() *cobra.Command { return (&app{now: time.Now}).root() }

// ConfigFile returns the defaults of the configuration file of agentctl, for
// documentation; see config.Keys.
func ConfigFile() any { return fileConfig{connection: connection{Timeout: defaultTimeout}} }

// Explained is what "agentctl explain" says about a model.
type Explained struct {
	models.Known
	Key   string // what its keys look like
	Place string // where the items are in a file
	Text  string
}

// Explain explains the models of configuration, for documentation.
func Explain(ctx context.Context) (all []Explained, err error) {
	e, err := (&app{ctx: ctx}).newExplainer(ctx)
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

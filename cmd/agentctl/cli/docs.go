package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/model"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
)

// factory returns a factory for what needs no agent.
func factory() *cmdutil.Factory {
	return cmdutil.NewFactory(output.Streams{}, nil, time.Now, output.Terminal{})
}

// Commands returns the tree of all commands, for documentation and its checks.
func Commands() *cobra.Command { return newRoot(factory()) }

// ConfigFile returns the defaults of the configuration file of agentctl, for
// documentation; see config.Keys.
func ConfigFile() any {
	return cmdutil.ConfigFile{Connection: cmdutil.Connection{Timeout: cmdutil.DefaultTimeout}}
}

// Explained is what "agentctl explain" says about a model.
type Explained = model.Explained

// Explain explains the models of configuration, for documentation.
func Explain(ctx context.Context) ([]Explained, error) { return model.ExplainAll(ctx, factory()) }

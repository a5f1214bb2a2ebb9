// Package cmdutil has what the commands of agentctl share: how they reach the agent and the store,
// the models of the agent, and the flags of all commands.
package cmdutil

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/announce/announced"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// Factory gives commands what they share. Its parts that depend on flags are ready when a command
// runs, see Connect.
type Factory struct {
	*output.Printer
	*Endpoint
	Invocation
	Client *client.Client
	Models *Models
	GRPC   *GRPC
	Store  *Store
}

// Endpoint is where the agent and its store are.
type Endpoint struct {
	Flags  Flags
	File   Connection       // of the configuration file
	Target *announced.Agent // the agent of --target that this run is for; nil: none
}

// Invocation is a run of the program.
type Invocation struct {
	Args       []string  // of the command line
	In         io.Reader // nil: the standard input
	Structured bool      // the output becomes a part of another one, in JSON
	// Run runs a command line with a factory, and returns the exit code.
	Run func(ctx context.Context, f *Factory, args []string) int
}

// NewFactory returns a factory for a run of the program.
func NewFactory(s output.Streams, environ config.Environ, now func() time.Time, term output.Terminal) *Factory {
	e, m := &Endpoint{}, &Models{}
	return &Factory{
		Printer:  &output.Printer{Streams: s, Environ: environ, Now: now, Term: term, ShortKey: m.ShortKey},
		Endpoint: e, Models: m, GRPC: &GRPC{e}, Store: &Store{e},
	}
}

// RunAgain runs another command line, with other outputs.
func (f *Factory) RunAgain(ctx context.Context, s output.Streams, args []string) int {
	again := NewFactory(s, f.Environ, f.Now, output.Terminal{})
	again.Run = f.Run
	return f.Run(ctx, again, args)
}

// Close closes the connection to the agent.
func (f *Factory) Close() {
	if f.Client != nil {
		f.Client.Close()
	}
}

// Connect evaluates the global flags and creates the client. A flag takes
// precedence over its variable, which takes precedence over the file.
func (f *Factory) Connect(cmd *cobra.Command, args []string) error {
	flags := cmd.Flags()
	if err := f.Prepare(cmd, args); err != nil {
		return err
	}
	cfg, _, err := f.ReadConfig()
	if err != nil {
		return err
	}
	g := &f.Flags
	if f.File, err = cfg.InContext(cmp.Or(g.Context, cfg.CurrentContext)); err != nil {
		return err
	}
	if err := f.File.setFlags(flags); err != nil {
		return err
	}
	g.GRPCPortGiven = flags.Changed("grpc-port")
	if f.Target != nil {
		if err := g.use(f.Target); err != nil {
			return err
		}
	}
	if err := g.splitURL(); err != nil {
		return err
	}
	if err := g.validate(); err != nil {
		return err
	}
	opts := client.Options{Host: g.Host, Port: g.HTTPPort, BasicAuth: g.HTTPBasicAuth, Token: g.HTTPToken, Timeout: g.Timeout, ShowSecrets: g.ShowSecrets}
	if opts.TLS, err = g.tlsFor(f.File.HTTPTLS, "http-tls", f.Target.GetHttp().GetTls()); err != nil {
		return err
	}
	if g.Debug {
		opts.Trace = func(method, url, status string, took time.Duration) {
			fmt.Fprintf(f.Err, "%s %s: %s (%v)\n", method, url, status, took.Round(time.Microsecond))
		}
	}
	f.Client = client.New(opts)
	f.Models.ctx, f.Models.client = cmd.Context(), f.Client
	return nil
}

// Prepare sets the flags that only variables give, and the format of the output. It suffices for
// commands that ask no agent.
func (f *Factory) Prepare(cmd *cobra.Command, _ []string) error {
	f.NamesKept = output.KeepsNames(cmd)
	if f.Wide = strings.EqualFold(f.Format, "wide"); f.Wide {
		f.Format = ""
	}
	if f.Structured {
		f.Format = "json"
	}
	flags := cmd.Flags()
	if f.Target == nil { // else the run for all agents has checked them
		f.Flags.TargetsGiven = flags.Changed("target")
		if err := checkGiven(flags); err != nil {
			return err
		}
	}
	return fromEnvironment(flags, f.Environ)
}

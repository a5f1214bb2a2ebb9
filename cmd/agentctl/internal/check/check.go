// Package check has the command that checks a file without an agent.
package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	vppagent "github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

type options struct {
	*cmdutil.Factory
	file, modelsFile string
}

// New returns the command "check".
func New(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := &cobra.Command{
		Use:   "check [-f] FILE",
		Short: "Say what is wrong with a file, without an agent",
		Long: "Applies a file to an agent in this process that simulates VPP and Linux: everything is\n" +
			"validated as an agent does, and references between items are followed. Nothing else is\n" +
			"asked or changed. The models are those of vpp-agent, or with --models those of another agent,\n" +
			"as \"model export\" prints them. Items of models that vpp-agent does not have are checked by their\n" +
			"schema only: what else their plugins expect is not in the file of the models.\n\n" +
			"What VPP or Linux will refuse or break although each item is valid, such as overlapping addresses,\n" +
			"is an error; what is legal but likely a mistake is a warning, with exit code 0. The\n" +
			"constraints are in docs/reference/constraints.md.\n\n" +
			"The exit code is 1 if there are mistakes, and 2 if items only wait for something that is not\n" +
			"in the file, such as an interface that the real VPP or Linux may have. With -o json the output is a\n" +
			"list of what was found, with the line and the column.",
		Example: "  agentctl check net.yaml\n  agentctl check net.yaml -o json\n  agentctl model export > models.json && agentctl check --models models.json net.yaml",
		Args:    cmdutil.Args(cobra.MaximumNArgs(1)),
		RunE:    o.run,
	}
	cmdutil.FileFlag(cmd, &o.file)
	cmd.Flags().StringVar(&o.modelsFile, "models", "", "`file` with the models of an agent, as \"model export\" prints them")
	return cmdutil.OnTargets(f.Formatted(cmd), cmdutil.NoTarget)
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	file, text, err := cmdutil.ReadOnlyFile(cmd, o.file, args)
	if err != nil {
		return err
	}
	var custom []*cmdutil.CustomModel
	o.Models.Use(allmodels.MustSet())
	if o.modelsFile != "" {
		set, theirs, err := readModels(o.modelsFile)
		if err != nil {
			return err
		}
		custom = theirs
		o.Models.Use(set)
		if errs := document.New(set).Decode(file, text, "").Errs; len(errs) > 0 { // the simulated agent has more models
			return o.refuse(file, errs)
		}
	}
	result, err := Simulate(cmd.Context(), text, custom)
	if result != nil {
		return o.printChecked(file, text, result)
	}
	errs := outcome.Problems(o.Factory, file, err)
	if errs == nil {
		return err
	}
	together, _ := o.predicted(file, text)
	if o.modelsFile == "" && slices.ContainsFunc(errs, isUnknownGroup) {
		defer fmt.Fprintln(o.Err, "For models that vpp-agent does not have: agentctl model export > models.json && agentctl check --models models.json")
	}
	return o.refuse(file, errs, together...)
}

// isUnknownGroup reports whether an error is about a group of items that vpp-agent does not
// have, such as that of a model of another agent.
func isUnknownGroup(e *document.Error) bool {
	return strings.HasSuffix(e.Field, "Config") && !strings.Contains(e.Field, ".")
}

// readModels reads the models of an agent. custom are those that vpp-agent does not have.
func readModels(file string) (set *models.Set, custom []*cmdutil.CustomModel, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("--models: %w", err)
	}
	var theirs response.Models
	if err := json.Unmarshal(text, &theirs); err != nil {
		return nil, nil, fmt.Errorf("--models: %s: expected the output of 'agentctl model export': %w", file, err)
	}
	if len(theirs.Models) == 0 {
		return nil, nil, fmt.Errorf("--models: %s: expected the output of 'agentctl model export', which lists models", file)
	}
	known, custom := cmdutil.Known(theirs)
	if err := cmdutil.Describe(theirs.Descriptors, custom); err != nil {
		return nil, nil, fmt.Errorf("--models: %s: %w", file, err)
	}
	if set, err = models.NewSet(known...); err != nil {
		return nil, nil, fmt.Errorf("--models: %s: %w", file, err)
	}
	return set, custom, nil
}

// anything is a plugin with descriptors for custom models, which accept every value of the
// schema and change nothing.
type anything struct {
	infra.PluginDeps
	scheduler api.Registrar
	models    []*cmdutil.CustomModel
}

func (p *anything) Init() error {
	for _, m := range p.models {
		err := p.scheduler.RegisterKVDescriptor(&api.KVDescriptor{
			Name: "check-" + m.Model.Name, NBKeyPrefix: m.KeyPrefix(), ValueTypeName: string(m.ProtoName()), KeySelector: m.Matches, KeyLabel: m.Label,
			Create: func(string, proto.Message) (api.Metadata, error) { return nil, nil },
			Update: func(string, proto.Message, proto.Message, api.Metadata) (api.Metadata, error) { return nil, nil },
			Delete: func(string, proto.Message, api.Metadata) error { return nil },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	// settleTime is how long the references of a file may take to be met.
	settleTime = time.Second
	// simulatorPatience limits the start and the stop of the simulated agent.
	simulatorTimeout = time.Minute
)

// Simulate applies a text to an agent that simulates everything. The result is nil if the
// text is refused as a whole.
func Simulate(ctx context.Context, text []byte, custom []*cmdutil.CustomModel) (result *response.Outcome, err error) {
	dir, err := os.MkdirTemp("", "agentctl-check-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	socket := filepath.Join(dir, "http.sock")
	for name, conf := range map[string]string{
		"http.conf": "endpoint: ''\nsocket: " + socket + "\nmax-body-bytes: 0\n", "grpc.conf": "disabled: true\n", "kvscheduler.conf": "print-txn-summary: false\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(conf), 0o600); err != nil {
			return nil, err
		}
	}
	known := make([]models.Known, len(custom))
	for i, m := range custom {
		known[i] = m
	}
	plugins, err := vppagent.New(vppagent.WithModels(known...), vppagent.WithPlugins(func(agent *vppagent.VPPAgent) infra.Plugin {
		p := &anything{scheduler: agent.Scheduler, models: custom}
		p.SetName("check")
		return p
	}))
	if err != nil {
		return nil, err
	}
	sim := agent.NewAgent(agent.AllPlugins(plugins), agent.Args("--config-dir", dir, "--simulate"), agent.Environ(config.NoEnviron), agent.QuitSignals(),
		agent.Logging(logging.NewRegistry(logging.WithWriter(io.Discard))), agent.StartTimeout(simulatorTimeout), agent.StopTimeout(simulatorTimeout))
	if err := sim.Start(ctx); err != nil {
		return nil, fmt.Errorf("start of the simulated agent: %w", err)
	}
	defer func() { err = errors.Join(err, sim.Stop()) }()
	c := client.New(client.Options{Host: socket})
	defer c.Close()
	awaitSimulator(ctx, c)
	return c.Configuration.Update(ctx, text, client.ChangeOptions{Wait: settleTime})
}

// awaitSimulator waits until the simulated agent is ready, because values are PENDING before.
// After the limit the results report what is missing.
func awaitSimulator(ctx context.Context, c *client.Client) {
	ctx, cancel := context.WithTimeout(ctx, simulatorTimeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, ready, err := c.Agent.Status(ctx); err == nil && ready {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// refuse prints the errors in a file, and what else was found.
func (o *options) refuse(file string, errs []*document.Error, more ...outcome.Finding) error {
	var list []outcome.Finding
	for _, e := range errs {
		list = append(list, outcome.Finding{File: e.File, Line: e.Line, Column: e.Column, Field: e.Field, Message: e.Msg, Text: e.Error()})
	}
	mistakes := len(errs)
	for i := range more {
		if more[i].Level == outcome.Error {
			mistakes++
		}
	}
	return o.printFindings(append(list, more...), outcome.Refusal(file, mistakes))
}

// printFindings prints findings and returns the verdict.
func (o *options) printFindings(list []outcome.Finding, verdict error) error {
	return errors.Join(output.Show(o.Printer, list, func(list []outcome.Finding) error {
		for _, f := range list {
			fmt.Fprintln(o.Err, f.Text)
		}
		return nil
	}), verdict)
}

// printChecked prints the items that are not in effect, with their positions.
func (opts *options) printChecked(file string, text []byte, o *response.Outcome) error {
	at := map[string]document.Position{}
	for _, it := range document.New(opts.Models.Set()).Decode(file, text, "").Items {
		at[it.Key] = it.Position
	}
	list, refused := opts.predicted(file, text)
	warnings, waiting := 0, 0
	for i := range list {
		if list[i].Level == outcome.Warning {
			warnings++
		}
	}
	for _, r := range o.Results {
		if refused[r.Key] && r.State != "PENDING" {
			continue // the constraint says why
		}
		where, reason := at[r.Key], opts.Models.ShortText(r.Reason)
		where.File = file
		line := &document.Error{Position: where, Field: opts.Models.ShortKey(r.Key), Msg: r.State + ": " + reason}
		list = append(list, outcome.Finding{File: file, Line: where.Line, Column: where.Column, Key: r.Key, State: r.State, Message: reason, Text: line.Error()})
		if r.State == "PENDING" {
			waiting++
		}
	}
	var verdict error
	switch wrong := len(list) - waiting - warnings; {
	case o.Omitted > 0:
		verdict = fmt.Errorf("%s: %s", file, opts.Models.ShortText(o.Summary.Text))
	case wrong > 0:
		verdict = outcome.Refusal(file, wrong)
	case waiting > 0:
		verdict = exit.Findingf("%s is valid; %d of %d items wait for what is not in it", file, waiting, o.Summary.Items)
	case opts.Format == "" && warnings > 0:
		return errors.Join(opts.printFindings(list, nil), opts.Printf("OK: %d items, %d with a likely mistake\n", o.Summary.Items, warnings))
	case opts.Format == "":
		return opts.Printf("OK: %d items\n", o.Summary.Items)
	}
	if list == nil {
		list = []outcome.Finding{}
	}
	return opts.printFindings(list, verdict)
}

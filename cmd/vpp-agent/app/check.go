package app

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

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/custommodel"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

const (
	// settleTime is how long the references of a file may take to be met.
	settleTime = time.Second
	// simulatorTimeout limits the start and the stop of the simulated agent.
	simulatorTimeout = time.Minute
)

var _ infra.Commander = (*VPPAgent)(nil)

// CommandHelp describes the commands check and rehearse.
func (a *VPPAgent) CommandHelp() string {
	return "  check FILE [MODELS]        apply a file (\"-\" is the standard input) to a simulated VPP and Linux, and write the\n" +
		"                             outcome as JSON, for 'agentctl check'; MODELS has models of another agent,\n" +
		"                             and --simulate-links names the network cards of the host\n" +
		"  rehearse FILE              execute the rollout in a file (\"-\" is the standard input) with simulated agents, and\n" +
		"                             write the outcome as JSON, for 'agentctl fleet rehearse'\n"
}

// RunCommand executes the commands check and rehearse.
func (a *VPPAgent) RunCommand(ctx context.Context, args []string, output io.Writer) (known bool, err error) {
	switch args[0] {
	case "check":
		return true, a.runCheck(ctx, args, output)
	case "rehearse":
		return true, a.runRehearse(ctx, args, output)
	}
	return false, nil
}

func (a *VPPAgent) runRehearse(ctx context.Context, args []string, output io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("rehearse %q: expected FILE", args[1:])
	}
	in, err := readRehearsal(args[1])
	if err != nil {
		return fmt.Errorf("rehearse %s: %w", args[1], err)
	}
	out, err := Rehearse(ctx, in, a.opts...)
	if err != nil {
		return err
	}
	return json.NewEncoder(output).Encode(out)
}

func (a *VPPAgent) runCheck(ctx context.Context, args []string, output io.Writer) error {
	if len(args) < 2 || len(args) > 3 {
		return fmt.Errorf("check %q: expected FILE [MODELS]", args[1:])
	}
	read := os.ReadFile
	if args[1] == "-" {
		read = func(string) ([]byte, error) { return io.ReadAll(os.Stdin) }
	}
	text, err := read(args[1])
	if err != nil {
		return err
	}
	opts := a.opts
	if len(args) == 3 {
		_, custom, err := custommodel.ReadFile(args[2])
		if err != nil {
			return err
		}
		ours := a.Orchestrator.Codec.Models()
		custom = slices.DeleteFunc(custom, func(m *custommodel.Model) bool {
			_, known := ours.ForName(m.Model.Name)
			return known
		})
		opts = append([]Option{withCustomModels(custom)}, opts...)
	}
	checked, err := Check(ctx, text, a.Simulation.links, opts...)
	if err != nil {
		return err
	}
	return json.NewEncoder(output).Encode(checked)
}

// withCustomModels adds models that this program does not have, with descriptors that accept every
// value of the schema and change nothing.
func withCustomModels(custom []*custommodel.Model) Option {
	return func(o *options) {
		for _, m := range custom {
			o.models = append(o.models, m)
		}
		o.plugins = append(o.plugins, func(a *VPPAgent) infra.Plugin {
			p := &anything{scheduler: a.Scheduler, models: custom}
			p.SetName("check")
			return p
		})
	}
}

// anything is the plugin of custom models.
type anything struct {
	infra.PluginDeps
	scheduler api.Registrar
	models    []*custommodel.Model
}

// Init registers the descriptors.
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

// Check applies a text to a new agent with the options, which simulates VPP and a Linux with the given
// links, and reports the outcome.
func Check(ctx context.Context, text []byte, links []string, opts ...Option) (checked response.Checked, err error) {
	dir, err := os.MkdirTemp("", "vpp-agent-check-")
	if err != nil {
		return checked, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	socket := filepath.Join(dir, "http.sock")
	for name, conf := range map[string]string{
		"http.conf": "endpoint: ''\nsocket: " + socket + "\nmax-body-bytes: 0\n", "grpc.conf": "disabled: true\n", "kvscheduler.conf": "print-txn-summary: false\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(conf), 0o600); err != nil {
			return checked, err
		}
	}
	plugins, err := New(opts...)
	if err != nil {
		return checked, err
	}
	sim := agent.NewAgent(agent.AllPlugins(plugins), agent.Args("--config-dir", dir, "--simulate", "--"+linksFlag, strings.Join(links, ",")), agent.Environ(config.NoEnviron), agent.QuitSignals(),
		agent.Logging(logging.NewRegistry(logging.WithWriter(io.Discard))), agent.StartTimeout(simulatorTimeout), agent.StopTimeout(simulatorTimeout))
	if err := sim.Start(ctx); err != nil {
		return checked, fmt.Errorf("start of the simulated agent: %w", err)
	}
	defer func() { err = errors.Join(err, sim.Stop()) }()
	c := client.New(client.Options{Host: socket})
	defer c.Close()
	return apply(ctx, c, plugins.Orchestrator.Codec, text)
}

// apply applies a text to a simulated agent: if some of its items have problems, the others.
func apply(ctx context.Context, c *client.Client, codec *document.Codec, text []byte) (checked response.Checked, err error) {
	awaitSimulator(ctx, c)
	checked.Outcome, err = c.Configuration.Update(ctx, text, client.ChangeOptions{Wait: settleTime})
	refused, ok := errors.AsType[*client.ProblemsError](err)
	var items []document.Item
	if ok {
		checked.Problems, err = withoutItems(refused.Problems), nil
		doc := codec.Decode("", text, "")
		items = slices.Concat(doc.Items, doc.Partial)
	}
	for attempt := 0; ok && attempt < maxAttempts; attempt++ { // a partial item may have further problems
		items = without(items, refused.Problems)
		rest := textOf(codec, items)
		if rest == nil {
			break
		}
		checked.Outcome, err = c.Configuration.Update(ctx, rest, client.ChangeOptions{Wait: settleTime})
		if refused, ok = errors.AsType[*client.ProblemsError](err); ok {
			err = nil
		}
	}
	if checked.Outcome != nil { // some items failed
		err = nil
	}
	if err != nil {
		return checked, err
	}
	theirs, err := c.Agent.Models(ctx, true)
	if err != nil {
		return checked, err
	}
	if _, custom := custommodel.Known(theirs); len(custom) > 0 {
		checked.Models = &theirs
	}
	return checked, nil
}

// withoutItems returns problems without the texts of their items: a file may have many.
func withoutItems(problems []response.Problem) []response.Problem {
	short := slices.Clone(problems)
	for i := range short {
		short[i].Item, short[i].Derived = "", ""
	}
	return short
}

// maxAttempts is how often the items without problems are tried.
const maxAttempts = 3

// without returns the items that have no problems.
func without(items []document.Item, problems []response.Problem) []document.Item {
	wrong := make(map[string]bool, len(problems))
	for _, p := range problems {
		wrong[p.Key] = true
	}
	return slices.DeleteFunc(items, func(it document.Item) bool { return wrong[it.Key] })
}

// textOf writes items as a text; nil if there are none.
func textOf(codec *document.Codec, items []document.Item) []byte {
	messages := make([]proto.Message, len(items))
	for i, it := range items {
		messages[i] = it.Value
	}
	text, err := codec.Encode(messages...)
	if len(items) == 0 || err != nil {
		return nil
	}
	return text
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

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	vppagent "github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

func (a *app) checkCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "check [-f] FILE",
		Short: "Say what is wrong with a file, without an agent",
		Long: "Applies a file to an agent in this process that simulates VPP and Linux: everything is\n" +
			"validated as an agent does, and references between items are followed. Nothing else is\n" +
			"asked or changed; the models are those of vpp-agent.\n\n" +
			"The exit code is 1 if there are mistakes, and 2 if items only wait for something that is not\n" +
			"in the file, such as an interface that the real VPP or Linux may have.",
		Example: "  agentctl check net.yaml",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := onlyFile(file, args)
			if err != nil {
				return err
			}
			text, err := readDocument(cmd, file)
			if err != nil {
				return err
			}
			outcome, err := simulate(cmd.Context(), text)
			if outcome == nil {
				return a.tellProblems(file, err)
			}
			return a.tellChecked(file, text, outcome)
		},
	}
	fileFlag(cmd, &file)
	return cmd
}

const (
	// settleTime is how long the references of a file may take to be met.
	settleTime = time.Second
	// simulatorPatience limits the start and the stop of the simulated agent.
	simulatorPatience = time.Minute
)

// simulate applies a text to an agent that simulates everything. The outcome is nil if the
// text is refused as a whole.
func simulate(ctx context.Context, text []byte) (outcome *response.Outcome, err error) {
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
	plugins, err := vppagent.New()
	if err != nil {
		return nil, err
	}
	sim := agent.NewAgent(agent.AllPlugins(plugins), agent.Args("--config-dir", dir, "--simulate"), agent.Environ(config.NoEnviron), agent.QuitSignals(),
		agent.Logging(logging.NewRegistry(logging.WithWriter(io.Discard))), agent.StartTimeout(simulatorPatience), agent.StopTimeout(simulatorPatience))
	if err := sim.Start(ctx); err != nil {
		return nil, fmt.Errorf("start of the simulated agent: %w", err)
	}
	defer func() { err = errors.Join(err, sim.Stop()) }()
	c := client.New(client.Options{Host: socket})
	defer c.Close()
	return c.UpdateConfiguration(ctx, text, client.ChangeOptions{Wait: settleTime})
}

// tellChecked prints the items that are not in effect, with their positions.
func (a *app) tellChecked(file string, text []byte, o *response.Outcome) error {
	at := map[string]document.Position{}
	for _, it := range document.New(a.set()).Decode(file, text, "").Items {
		at[it.Key] = it.Position
	}
	waiting := 0
	for _, r := range o.Results {
		where := at[r.Key]
		where.File = file
		fmt.Fprintln(a.Err, &document.Error{Position: where, Field: a.shortKey(r.Key), Msg: r.State + ": " + a.shortText(r.Reason)})
		if r.State == "PENDING" {
			waiting++
		}
	}
	switch wrong := len(o.Results) - waiting; {
	case o.Omitted > 0:
		return fmt.Errorf("%s: %s", file, a.shortText(o.Summary.Text))
	case wrong > 0:
		return refusal(file, wrong)
	case waiting > 0:
		return findingError{fmt.Errorf("%s is valid; %d of %d items wait for what is not in it", file, waiting, o.Summary.Items)}
	}
	_, err := fmt.Fprintf(a.Out, "OK: %d items\n", o.Summary.Items)
	return err
}

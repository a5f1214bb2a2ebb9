package targets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
)

// concurrentTargets is the maximum number of agents that are asked at the same time.
const concurrentTargets = 16

// Run makes all commands below cmd run on the agents of --target.
func Run(f *cmdutil.Factory, cmd *cobra.Command) {
	for _, child := range cmd.Commands() {
		Run(f, child)
	}
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.Target != nil:
			if err := verifyTarget(cmd.Context(), f); err != nil {
				return err
			}
			return run(cmd, args)
		case len(f.Flags.Targets) == 0:
			return run(cmd, args)
		case cmdutil.TargetRuleOf(cmd) == cmdutil.NoTarget && !f.Flags.TargetsGiven: // a variable is for all commands
			return run(cmd, args)
		case cmdutil.TargetRuleOf(cmd) == cmdutil.NoTarget:
			return exit.Usagef("--target: '%s' asks no agent", cmd.CommandPath())
		}
		targets, err := find(cmd.Context(), f, f.Flags.Targets)
		if err != nil {
			return err
		}
		if label := f.Flags.Targets[0]; len(f.Flags.Targets) == 1 && !isPattern(label) {
			return runOnTarget(f, cmd, args, targets[0])
		}
		return runOnTargets(f, cmd, targets)
	}
}

// runOnTarget runs a command on the only agent, as if its address had been given.
func runOnTarget(f *cmdutil.Factory, cmd *cobra.Command, args []string, t foundTarget) error {
	if t.err != nil {
		return t.err
	}
	f.Client.Close()
	f.Target = t.agent
	if err := f.Connect(cmd, args); err != nil {
		return err
	}
	return cmd.RunE(cmd, args)
}

// targetResult is what a command did on an agent, for programs.
type targetResult struct {
	Target   string          `json:"target"`
	Address  string          `json:"address,omitempty"` // of the HTTP server
	ExitCode int             `json:"exitCode"`
	Error    string          `json:"error,omitempty"`
	Output   json.RawMessage `json:"output,omitempty"`
}

func runOnTargets(f *cmdutil.Factory, cmd *cobra.Command, targets []foundTarget) error {
	rule := cmdutil.TargetRuleOf(cmd)
	yes := cmd.Flags().Lookup("yes")
	switch {
	case rule == cmdutil.OneTarget:
		return exit.Usagef("--target: '%s' is for one agent at a time", strings.TrimSpace(cmd.CommandPath()))
	case yes != nil && yes.Value.String() != "true" && f.Interactive():
		return exit.Usagef("--target: expected --yes too: several agents cannot be confirmed one by one")
	}
	format := strings.ToLower(f.Format)
	structured := rule == cmdutil.EachTarget && (format == "json" || format == "yaml")
	input := sync.OnceValues(func() ([]byte, error) { return io.ReadAll(cmd.InOrStdin()) })
	limit := len(targets) // those that follow run until they are interrupted
	if rule == cmdutil.EachTarget {
		limit = concurrentTargets
	}
	var mu sync.Mutex // of the outputs
	results := make([]targetResult, len(targets))
	printed := make(chan struct{})
	close(printed) // there is nothing to print before the first one
	var g errgroup.Group
	g.SetLimit(limit)
	for i, t := range targets {
		before, done := printed, make(chan struct{})
		printed = done
		g.Go(func() error {
			defer close(done)
			out := &labelled{mu: &mu, to: f.Out, label: t.label, whole: rule == cmdutil.EachTarget}
			errs := &labelled{mu: &mu, to: f.Err, label: t.label, whole: rule == cmdutil.EachTarget}
			var text bytes.Buffer
			s := output.Streams{Out: out, Err: errs}
			if structured {
				s.Out = &text
			}
			results[i] = runAsTarget(f, cmd, t, s, structured, &lazyReader{read: input})
			results[i].Output = jsonOf(text.Bytes())
			<-before
			return errors.Join(out.flush(), errs.flush())
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if structured {
		if err := f.Write(f.Format, results); err != nil {
			return err
		}
	}
	return outcomeOf(results)
}

// runAsTarget runs the command line on one of several agents.
func runAsTarget(f *cmdutil.Factory, cmd *cobra.Command, t foundTarget, s output.Streams, structured bool, in io.Reader) targetResult {
	if t.err != nil {
		fmt.Fprintf(s.Err, "ERROR: %v\n", t.err)
		return targetResult{Target: t.label, ExitCode: exit.CodeError, Error: t.err.Error()}
	}
	var said bytes.Buffer
	s.Err = io.MultiWriter(s.Err, &said)
	term := output.Terminal{}
	if f.Term.Width > 0 {
		term.Width = max(f.Term.Width-len(t.label)-len(labelEnd), output.MinWidth)
	}
	sub := cmdutil.NewFactory(s, f.Environ, f.Now, term)
	sub.Target = t.agent
	sub.Invocation = cmdutil.Invocation{In: in, Structured: structured, Run: f.Run}
	r := targetResult{Target: t.label, Address: t.agent.Http.Address, ExitCode: f.Run(cmd.Context(), sub, f.Args)}
	if r.ExitCode != 0 {
		r.Error = strings.TrimPrefix(strings.TrimSpace(said.String()), "ERROR: ")
	}
	return r
}

// jsonOf returns the output of a command with -o json.
func jsonOf(text []byte) json.RawMessage {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || json.Valid(text) {
		return text
	}
	quoted, err := json.Marshal(string(text))
	if err != nil {
		return nil
	}
	return quoted
}

// outcomeOf returns the error that has the exit code for all agents.
func outcomeOf(results []targetResult) error {
	var failed, found []string
	invalid := true
	for _, r := range results {
		switch r.ExitCode {
		case 0:
			invalid = false
		case exit.CodeFinding:
			found, invalid = append(found, r.Target), false
		default:
			failed, invalid = append(failed, r.Target), invalid && r.ExitCode == exit.CodeUsage
		}
	}
	switch {
	case invalid:
		return exit.Usagef("%s", results[0].Error)
	case len(failed) > 0:
		return fmt.Errorf("%d of %d agents failed: %s", len(failed), len(results), strings.Join(failed, ", "))
	case len(found) > 0:
		return exit.Findingf("found on %d of %d agents: %s", len(found), len(results), strings.Join(found, ", "))
	}
	return nil
}

// labelEnd is between the label of an agent and a line of it.
const labelEnd = ": "

// labelled writes each line with the label of an agent before it.
type labelled struct {
	mu    *sync.Mutex
	to    io.Writer
	label string
	whole bool // nothing is written before flush
	buf   bytes.Buffer
}

func (l *labelled) Write(text []byte) (int, error) {
	l.buf.Write(text)
	if end := bytes.LastIndexByte(l.buf.Bytes(), '\n'); !l.whole && end >= 0 {
		return len(text), l.write(l.buf.Next(end + 1))
	}
	return len(text), nil
}

func (l *labelled) flush() error { return l.write(l.buf.Next(l.buf.Len())) }

func (l *labelled) write(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	var lines strings.Builder
	for line := range strings.Lines(string(text)) {
		lines.WriteString(l.label + labelEnd + strings.TrimSuffix(line, "\n") + "\n")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := io.WriteString(l.to, lines.String())
	return err
}

// lazyReader reads an input that several commands share, when one of them needs it.
type lazyReader struct {
	read func() ([]byte, error)
	text io.Reader
}

func (l *lazyReader) Read(into []byte) (int, error) {
	if l.text == nil {
		text, err := l.read()
		if err != nil {
			return 0, err
		}
		l.text = bytes.NewReader(text)
	}
	return l.text.Read(into)
}

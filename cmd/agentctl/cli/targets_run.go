package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// targetRule is how a command treats --target.
type targetRule int

const (
	eachTarget   targetRule = iota // it runs on every agent, and prints what an agent answers when that is complete
	followTarget                   // it runs on every agent, and prints every line at once
	oneTarget                      // it runs on one agent only
	noTarget                       // it asks no agent
)

// targetRules are those of commands other than eachTarget, by path; that of a command is
// also that of its subcommands.
var targetRules = map[string]targetRule{
	"config watch": followTarget, "service call": followTarget,
	"edit": oneTarget, "login": oneTarget, "logout": oneTarget, "report": oneTarget, "top": oneTarget, "vpp pcap": oneTarget,
	"check": noTarget, "completion": noTarget, "context": noTarget, "kvdb": noTarget, "man": noTarget, "options": noTarget,
	"put": noTarget, "targets": noTarget,
}

// concurrentTargets is the maximum number of agents that are asked at the same time.
const concurrentTargets = 16

func targetRuleOf(cmd *cobra.Command) targetRule {
	flags := cmd.Flags()
	path := strings.Fields(cmd.CommandPath())[1:]
	switch set := flags.Changed; {
	case len(path) == 0 || path[0] == "help": // they print the help
		return noTarget
	case path[0] == "import" && !set("grpc"): // into the store
		return noTarget
	case set("watch") && flags.Lookup("watch").Value.String() == "true":
		return followTarget
	case set("out"): // all agents would write the same file
		return oneTarget
	}
	rule := targetRules[path[0]]
	if len(path) > 1 {
		rule = cmp.Or(rule, targetRules[path[0]+" "+path[1]])
	}
	return rule
}

// onTargets makes all commands below cmd run on the agents of --target.
func (a *app) onTargets(cmd *cobra.Command) {
	for _, child := range cmd.Commands() {
		a.onTargets(child)
	}
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case a.target != nil:
			if err := a.verifyTarget(cmd.Context()); err != nil {
				return err
			}
			return run(cmd, args)
		case len(a.global.targets) == 0:
			return run(cmd, args)
		case targetRuleOf(cmd) == noTarget && !a.global.targetsGiven: // a variable is for all commands
			return run(cmd, args)
		case targetRuleOf(cmd) == noTarget:
			return usage("--target: '%s' asks no agent", cmd.CommandPath())
		}
		targets, err := a.findTargets(cmd.Context(), a.global.targets)
		if err != nil {
			return err
		}
		if label := a.global.targets[0]; len(a.global.targets) == 1 && !isPattern(label) {
			return a.runOnTarget(cmd, args, targets[0])
		}
		return a.runOnTargets(cmd, targets)
	}
}

// runOnTarget runs a command on the only agent, as if its address had been given.
func (a *app) runOnTarget(cmd *cobra.Command, args []string, t foundTarget) error {
	if t.err != nil {
		return t.err
	}
	a.client.Close()
	a.target = t.agent
	if err := a.connect(cmd, args); err != nil {
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

func (a *app) runOnTargets(cmd *cobra.Command, targets []foundTarget) error {
	rule := targetRuleOf(cmd)
	yes := cmd.Flags().Lookup("yes")
	switch {
	case rule == oneTarget:
		return usage("--target: '%s' is for one agent at a time", strings.TrimSpace(cmd.CommandPath()))
	case yes != nil && yes.Value.String() != "true" && a.interactive():
		return usage("--target: expected --yes too: several agents cannot be confirmed one by one")
	}
	format := strings.ToLower(a.format)
	structured := rule == eachTarget && (format == "json" || format == "yaml")
	input := sync.OnceValues(func() ([]byte, error) { return io.ReadAll(cmd.InOrStdin()) })
	limit := len(targets) // those that follow run until they are interrupted
	if rule == eachTarget {
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
			out := &labelled{mu: &mu, to: a.Out, label: t.label, whole: rule == eachTarget}
			errs := &labelled{mu: &mu, to: a.Err, label: t.label, whole: rule == eachTarget}
			var text bytes.Buffer
			s := Streams{Out: out, Err: errs}
			if structured {
				s.Out = &text
			}
			results[i] = a.runAsTarget(cmd, t, s, structured, &lazyReader{read: input})
			results[i].Output = jsonOf(text.Bytes())
			<-before
			return errors.Join(out.flush(), errs.flush())
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if structured {
		if err := a.write(a.format, results); err != nil {
			return err
		}
	}
	return outcomeOf(results)
}

// runAsTarget runs the command line on one of several agents.
func (a *app) runAsTarget(cmd *cobra.Command, t foundTarget, s Streams, structured bool, in io.Reader) targetResult {
	if t.err != nil {
		fmt.Fprintf(s.Err, "ERROR: %v\n", t.err)
		return targetResult{Target: t.label, ExitCode: exitError, Error: t.err.Error()}
	}
	var said bytes.Buffer
	s.Err = io.MultiWriter(s.Err, &said)
	sub := &app{Streams: s, environ: a.environ, now: a.now, target: t.agent, structured: structured, in: in}
	if a.term.width > 0 {
		sub.term.width = max(a.term.width-len(t.label)-len(labelEnd), minWidth)
	}
	r := targetResult{Target: t.label, Address: t.agent.Http.Address, ExitCode: sub.run(cmd.Context(), a.args)}
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
		case exitFinding:
			found, invalid = append(found, r.Target), false
		default:
			failed, invalid = append(failed, r.Target), invalid && r.ExitCode == exitUsage
		}
	}
	switch {
	case invalid:
		return usage("%s", results[0].Error)
	case len(failed) > 0:
		return fmt.Errorf("%d of %d agents failed: %s", len(failed), len(results), strings.Join(failed, ", "))
	case len(found) > 0:
		return findingError{fmt.Errorf("found on %d of %d agents: %s", len(found), len(results), strings.Join(found, ", "))}
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

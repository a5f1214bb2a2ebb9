// Package report has the command that collects diagnostic data in a zip file.
package report

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/cmd/internal/buildinfo"
)

// reported is a file of a report: the output of a command.
type reported struct {
	file    string
	command []string
}

// The file names are those that existing readers of reports expect.
var reports = []reported{
	{"software-versions.txt", []string{"version"}},
	{"agent-status.txt", []string{"status"}},
	{"agent-values.txt", []string{"values"}},
	{"agent-transaction-history.txt", []string{"config", "history", "-f", "log"}},
	{"agent-NB-config.yaml", []string{"config", "get"}},
	{"agent-kvscheduler-NB-config-view.txt", []string{"dump", "all", "--view", "NB"}},
	{"agent-kvscheduler-SB-config-view.txt", []string{"dump", "all", "--view", "SB"}},
	{"agent-kvscheduler-cached-config-view.txt", []string{"dump", "all", "--view", "cached"}},
	{"agent-orphans.txt", []string{"orphans"}},
	{"agent-loggers.txt", []string{"log", "list"}},
	{"agent-metrics.txt", []string{"metrics", "get", "*"}},
	{"vpp-startup-config.txt", []string{"vpp", "cli", "show", "version", "cmdline"}},
	{"vpp-version.txt", []string{"vpp", "cli", "show", "version", "verbose"}},
	{"vpp-running-config(vpp-agent-SB-dump).yaml", []string{"config", "retrieve"}},
	{"vpp-event-log.txt", []string{"vpp", "cli", "show", "event-logger", "all"}},
	{"vpp-log.txt", []string{"vpp", "cli", "show", "logging"}},
	{"vpp-statistics-interfaces.txt", []string{"vpp", "cli", "show", "interface"}},
	{"vpp-statistics-errors.txt", []string{"vpp", "cli", "show", "errors"}},
	{"vpp-api-trace.txt", []string{"vpp", "cli", "api", "trace", "status"}},
	{"vpp-other-srv6.txt", []string{"vpp", "cli", "show", "sr", "localsids"}},
}

// hardware are files about the machine that agentctl runs on.
var hardware = []string{"/proc/version", "/proc/cpuinfo", "/proc/meminfo", "/proc/loadavg"}

type options struct {
	*cmdutil.Factory
	dir    string
	ignore bool
}

// New returns the command "report".
func New(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := &cobra.Command{
		Use: "report", Args: cmdutil.Args(cobra.NoArgs),
		Example: "  agentctl report -o /tmp",
		Short:   "Collect diagnostic data in a zip file",
		Long: "Collects the state of the agent and of its VPP in a zip file, whose name is printed. Secrets in\n" +
			"configurations are hidden. _failed-reports.txt lists the missing parts; the exit code is\n" +
			"1 then, unless errors are ignored.",
		RunE: o.run,
	}
	cmd.Flags().StringVarP(&o.dir, "output-directory", "o", ".", "`directory` for the zip file")
	cmd.Flags().BoolVarP(&o.ignore, "ignore-errors", "i", false, "exit with 0 although parts are missing")
	return cmdutil.OnTargets(cmd, cmdutil.OneTarget)
}

func (o *options) run(cmd *cobra.Command, _ []string) error {
	path := filepath.Join(o.dir, "agentctl-report--"+o.Now().UTC().Format("2006-01-02--15-04-05")+".zip")
	failed, err := o.report(cmd, path)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(o.Out, path); err != nil {
		return err
	}
	if len(failed) > 0 && !o.ignore {
		return fmt.Errorf("%d parts of the report are missing: %s", len(failed), strings.Join(failed, ", "))
	}
	return nil
}

// report writes a report and returns the names of the missing parts.
func (o *options) report(cmd *cobra.Command, path string) (failed []string, err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--output-directory: %w", err)
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			_ = os.Remove(path) // an incomplete report is misleading
		}
	}()
	archive := zip.NewWriter(file)
	var problems bytes.Buffer
	var hangs error
	for _, r := range reports {
		text, err := "", hangs
		if err == nil {
			text, err = o.output(cmd, r.command)
		}
		if err != nil && hangs == nil && o.hangs(cmd.Context()) {
			hangs = errors.New("not asked: the agent does not answer")
		}
		if err != nil {
			failed = append(failed, r.file)
			fmt.Fprintf(&problems, "%s: agentctl %s: %v\n", r.file, strings.Join(r.command, " "), err)
		}
		if err := add(archive, r.file, text); err != nil {
			return nil, err
		}
	}
	machine := "" // missing files are ignored
	for _, name := range hardware {
		text, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintf(&problems, "hardware.txt: %v\n", err)
		}
		machine += "# " + name + "\n" + string(text) + "\n"
	}
	version, _, _ := buildinfo.Version()
	about := fmt.Sprintf("agentctl %s, %s\nagent at %s\nhardware.txt is about the machine that agentctl ran on\n%d of %d parts are missing\n",
		version, o.Now().UTC().Format("2006-01-02 15:04:05 UTC"), o.Client.URL(), len(failed), len(reports))
	return failed, errors.Join(
		add(archive, "hardware.txt", machine),
		add(archive, "_failed-reports.txt", problems.String()),
		add(archive, "_report.txt", about),
		archive.Close())
}

// answerTimeout is how long an agent may take to return its version.
const answerTimeout = 10 * time.Second

// hangs reports whether the agent does not respond at all, so that requesting
// the parts of the report is useless.
func (o *options) hangs(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := o.Client.Agent.Version(ctx)
	return errors.Is(err, context.DeadlineExceeded)
}

func add(archive *zip.Writer, name, text string) error {
	w, err := archive.Create(name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

// output returns the output of another command with the same global flags.
func (o *options) output(cmd *cobra.Command, command []string) (string, error) {
	var flags []string
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			flags = append(flags, "--"+f.Name+"="+f.Value.String())
		}
	})
	var out, errs bytes.Buffer
	switch code := o.RunAgain(cmd.Context(), output.Streams{Out: &out, Err: &errs}, append(flags, command...)); {
	case errors.Is(cmd.Context().Err(), context.Canceled):
		return "", cmd.Context().Err()
	case code == 0 || out.Len() > 0: // the state of a failed agent is an error, too, but belongs to the report
		return out.String() + errs.String(), nil
	}
	return errs.String(), errors.New(strings.TrimPrefix(strings.TrimSpace(errs.String()), "ERROR: "))
}

package cli

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

func (a *app) reportCommand() *cobra.Command {
	var dir string
	var ignore bool
	cmd := &cobra.Command{
		Use: "report", Args: args(cobra.NoArgs),
		Short: "Collect what is needed to find an error, in a zip file",
		Long: "Collects the state of the agent and of its VPP in a zip file, whose name is printed. Secrets in\n" +
			"configurations are hidden. _failed-reports.txt lists the missing parts; the exit code is\n" +
			"1 then, unless errors are ignored.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := filepath.Join(dir, "agentctl-report--"+a.now().UTC().Format("2006-01-02--15-04-05")+".zip")
			failed, err := a.report(cmd, path)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(a.Out, path); err != nil {
				return err
			}
			if len(failed) > 0 && !ignore {
				return fmt.Errorf("%d parts of the report are missing: %s", len(failed), strings.Join(failed, ", "))
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&dir, "output-directory", "o", ".", "`directory` for the zip file")
	cmd.Flags().BoolVarP(&ignore, "ignore-errors", "i", false, "exit with 0 although parts are missing")
	return cmd
}

// report writes a report and returns the names of the missing parts.
func (a *app) report(cmd *cobra.Command, path string) (failed []string, err error) {
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
			text, err = a.output(cmd, r.command)
		}
		if err != nil && hangs == nil && a.hangs(cmd.Context()) {
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
	about := fmt.Sprintf("agentctl %s, %s\nagent at %s\nhardware.txt is about the machine that agentctl ran on\n%d of %d parts are missing\n",
		cmd.Root().Version, a.now().UTC().Format("2006-01-02 15:04:05 UTC"), a.client.URL(), len(failed), len(reports))
	return failed, errors.Join(
		add(archive, "hardware.txt", machine),
		add(archive, "_failed-reports.txt", problems.String()),
		add(archive, "_report.txt", about),
		archive.Close())
}

// reportPatience is how long an agent may take to return its version.
const reportPatience = 10 * time.Second

// hangs reports whether the agent does not respond at all, so that requesting
// the parts of the report is useless.
func (a *app) hangs(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, reportPatience)
	defer cancel()
	_, err := a.client.Version(ctx)
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
func (a *app) output(cmd *cobra.Command, command []string) (string, error) {
	var flags []string
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			flags = append(flags, "--"+f.Name+"="+f.Value.String())
		}
	})
	var out, errs bytes.Buffer
	other := &app{Streams: Streams{&out, &errs}, environ: a.environ, now: a.now}
	switch code := other.run(cmd.Context(), append(flags, command...)); {
	case errors.Is(cmd.Context().Err(), context.Canceled):
		return "", cmd.Context().Err()
	case code == 0 || out.Len() > 0: // the state of a failed agent is an error, too, but belongs to the report
		return out.String() + errs.String(), nil
	}
	return errs.String(), errors.New(strings.TrimPrefix(strings.TrimSpace(errs.String()), "ERROR: "))
}

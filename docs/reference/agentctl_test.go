package reference

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/cli"
)

// writeCommands lists the commands with their flags.
func writeCommands(t *testing.T, w *writer) {
	root := cli.Commands()
	w.printf("\n%s\n\n## Flags of all commands\n", strings.TrimSpace(root.Long))
	writeFlagSet(t, w, root.PersistentFlags())
	w.printf("\n## Configuration file\n\n`config.yaml` in `--config-dir`. Flags and variables win over it.\n")
	writeKeys(t, w, "config.yaml", cli.ConfigFile())
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
				continue
			}
			if !c.HasSubCommands() || c.Runnable() && c.Example != "" {
				writeCommand(t, w, c)
			}
			walk(c)
		}
	}
	walk(root)
}

func writeCommand(t *testing.T, w *writer, c *cobra.Command) {
	if c.Short == "" {
		t.Errorf("%s has no description", c.CommandPath())
	}
	w.rows++
	w.printf("\n## %s\n\n    %s\n\n", c.CommandPath(), c.UseLine())
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	w.printf("%s\n", strings.TrimSpace(text))
	if c.Example != "" {
		w.printf("\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimRight(c.Example, "\n"), "  agentctl", "agentctl"))
	}
	if len(c.Aliases) > 0 {
		w.printf("\nAlso: %s.\n", strings.Join(c.Aliases, ", "))
	}
	if c.LocalNonPersistentFlags().HasAvailableFlags() {
		writeFlagSet(t, w, c.LocalNonPersistentFlags())
	}
}

func writeFlagSet(t *testing.T, w *writer, fs *pflag.FlagSet) {
	w.heading("flag", "default", "")
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if f.Usage == "" {
			t.Errorf("flag --%s has no usage", f.Name)
		}
		value, usage := pflag.UnquoteUsage(f)
		if value != "" {
			value = " " + value
		}
		short := ""
		if f.Shorthand != "" {
			short = "-" + f.Shorthand + ", "
		}
		w.row(code(short+"--"+f.Name+value), code(f.DefValue), usage)
	})
}

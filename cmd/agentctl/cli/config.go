package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

func (a *app) configCommand() *cobra.Command {
	return parent("config", "Show, change and repair the configuration",
		a.configGet(), a.configUpdate(), a.configValidate(), a.configHistory(), a.configResync(),
		a.configDelete(), a.configRetrieve(), a.configWatch())
}

func (a *app) configGet() *cobra.Command {
	var labels string
	cmd := verbatim(a.formatted(&cobra.Command{
		Use: "get", Short: "Show the configuration that is asked for", Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := a.client.Configuration(cmd.Context(), labels)
			if err != nil {
				return err
			}
			return a.writeDocument(text)
		},
	}, protoFormat))
	cmd.Flags().StringVar(&labels, "labels", "", "only items with these `labels`, as in team=blue,owner,!old")
	return cmd
}

// writeDocument writes a configuration that is in YAML.
func (a *app) writeDocument(text []byte) error {
	if a.format == "" || strings.EqualFold(a.format, "yaml") {
		_, err := a.Out.Write(text)
		return err
	}
	if a.asProto() {
		list, err := a.protoDocument(text)
		if err != nil {
			return err
		}
		return a.writeProto(list)
	}
	var data any
	if err := yaml.Unmarshal(text, &data); err != nil {
		return fmt.Errorf("answer of the agent: %w", err)
	}
	return a.write(a.format, data)
}

func (a *app) configResync() *cobra.Command {
	var retry, verbose bool
	cmd := asInLigato(a.formatted(&cobra.Command{
		Use:   "resync",
		Short: "Read the southbound again and repair what differs",
		Long: "Makes the agent read the southbound again and repair what differs from the\n" +
			"configuration. Prints what was done; the exit code is 1 if an operation failed or\n" +
			"if the southbound, or a part of it, could not be read.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			txn, err := progressing(cmd.Context(), a, func() (client.Answer[*api.RecordedTxn], error) { return a.client.Resync(cmd.Context(), retry, verbose) })
			if err != nil {
				return err
			}
			if err := showAnswer(a, txn, a.printResync); err != nil {
				return err
			}
			if n := len(failures(txn.Value)); n > 0 {
				return fmt.Errorf("%d of %d operations failed: %s", n, len(txn.Value.Executed), strings.Join(failures(txn.Value), "; "))
			}
			return unreadError(txn.Value.Unread)
		},
	}))
	cmd.Flags().BoolVar(&retry, "retry", false, "try what fails again later")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "write the values that the agent retrieves to its log")
	return cmd
}

func (a *app) printResync(txn *api.RecordedTxn) error {
	t := newTable("OPERATION", "KEY", "STATE", "ERROR")
	for _, op := range txn.Executed {
		if !op.NOOP || op.NewErrMsg != "" {
			t.row(op.Operation, op.Key, a.paintState(stateName(op.NewState)), op.NewErrMsg)
		}
	}
	done := len(t.rows) - 1 // the first one has the names of the columns
	a.printUnread(txn.Unread)
	switch {
	case done == 0 && unreadError(txn.Unread) != nil:
		return a.printf("Transaction %d: nothing was done for what was not read.\n", txn.SeqNum)
	case done == 0:
		return a.printf("Transaction %d: nothing had to be done.\n", txn.SeqNum)
	}
	if err := t.write(a); err != nil {
		return err
	}
	return a.printf("Transaction %d, %v.\n", txn.SeqNum, txn.Stop.Sub(txn.Start).Round(10*time.Microsecond))
}

// failures returns "key: error" for each failed operation.
func failures(t *api.RecordedTxn) (list []string) {
	for _, op := range t.Executed {
		if op.NewErrMsg != "" {
			list = append(list, op.Key+": "+op.NewErrMsg)
		}
	}
	return list
}

// Package config has the commands that show, change and repair the configuration.
package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/drift"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/history"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// New returns the command "config".
func New(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.Parent("config", "Show, change and repair the configuration",
		newGet(f), newUpdate(f), newValidate(f), history.New(f), newResync(f),
		newDelete(f), newRetrieve(f), newWatch(f))
}

type getOptions struct {
	*cmdutil.Factory
	labels string
}

func newGet(f *cmdutil.Factory) *cobra.Command {
	o := &getOptions{Factory: f}
	cmd := output.Verbatim(f.Formatted(&cobra.Command{
		Use: "get", Short: "Show the configuration that is asked for", Args: cmdutil.Args(cobra.NoArgs),
		Example: "  agentctl config get > net.yaml",
		RunE:    o.run,
	}, output.Proto))
	cmd.Flags().StringVar(&o.labels, "labels", "", "only items with these `labels`, as in team=blue,owner,!old")
	return cmd
}

func (o *getOptions) run(cmd *cobra.Command, _ []string) error {
	text, err := o.Client.Configuration.Get(cmd.Context(), o.labels)
	if err != nil {
		return err
	}
	return writeDocument(o.Factory, text)
}

// writeDocument writes a configuration that is in YAML.
func writeDocument(f *cmdutil.Factory, text []byte) error {
	if f.Format == "" || strings.EqualFold(f.Format, "yaml") {
		_, err := f.Out.Write(text)
		return err
	}
	if f.AsProto() {
		list, err := protoDocument(f, text)
		if err != nil {
			return err
		}
		return cmdutil.WriteProto(f.Printer, list)
	}
	data, err := output.ParseYAML[any](text)
	if err != nil {
		return fmt.Errorf("answer of the agent: %w", err)
	}
	return f.Write(f.Format, data)
}

type resyncOptions struct {
	*cmdutil.Factory
	retry, verbose bool
}

func newResync(f *cmdutil.Factory) *cobra.Command {
	o := &resyncOptions{Factory: f}
	cmd := output.AsInLigato(f.Formatted(&cobra.Command{
		Use:     "resync",
		Example: "  agentctl config resync --retry",
		Short:   "Read the southbound again and repair what differs",
		Long: "Makes the agent read the southbound again and repair what differs from the\n" +
			"configuration. Prints what was done; the exit code is 1 if an operation failed or\n" +
			"if the southbound, or a part of it, could not be read.",
		Args: cmdutil.Args(cobra.NoArgs),
		RunE: o.run,
	}))
	cmd.Flags().BoolVar(&o.retry, "retry", false, "try what fails again later")
	cmd.Flags().BoolVar(&o.verbose, "verbose", false, "write the values that the agent retrieves to its log")
	return cmd
}

func (o *resyncOptions) run(cmd *cobra.Command, _ []string) error {
	txn, err := cmdutil.Progressing(cmd.Context(), o.Factory, func() (client.Answer[*api.RecordedTxn], error) {
		return o.Client.Repair.Resync(cmd.Context(), o.retry, o.verbose)
	})
	if err != nil {
		return err
	}
	if err := output.ShowAnswer(o.Printer, txn, o.printResync); err != nil {
		return err
	}
	if n := len(failures(txn.Value)); n > 0 {
		return fmt.Errorf("%d of %d operations failed: %s", n, len(txn.Value.Executed), strings.Join(failures(txn.Value), "; "))
	}
	return drift.UnreadError(txn.Value.Unread)
}

func (o *resyncOptions) printResync(txn *api.RecordedTxn) error {
	t := output.NewTable("OPERATION", "KEY", "STATE", "ERROR")
	done := 0
	for _, op := range txn.Executed {
		if !op.NOOP || op.NewErrMsg != "" {
			done++
			t.Row(op.Operation, o.Models.ShortKey(op.Key), o.PaintState(cmdutil.StateName(op.NewState)), o.Models.ShortText(op.NewErrMsg))
		}
	}
	drift.PrintUnread(o.Factory, txn.Unread)
	switch {
	case done == 0 && drift.UnreadError(txn.Unread) != nil:
		return o.Printf("Transaction %d: nothing was done for what was not read.\n", txn.SeqNum)
	case done == 0:
		return o.Printf("Transaction %d: nothing had to be done.\n", txn.SeqNum)
	}
	if err := t.Write(o.Printer); err != nil {
		return err
	}
	return o.Printf("Transaction %d, %v.\n", txn.SeqNum, txn.Stop.Sub(txn.Start).Round(10*time.Microsecond))
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

// protoDocument returns the items of a configuration that the agent sent.
func protoDocument(f *cmdutil.Factory, text []byte) (list []cmdutil.ProtoItem, err error) {
	doc := decodeHidden(f, "answer of the agent", text)
	if len(doc.Errs) > 0 {
		return nil, doc.Errs[0]
	}
	for _, it := range doc.Items {
		list = append(list, cmdutil.ProtoItem{Key: it.Key, Message: it.Value})
	}
	return list, nil
}

// Package kvdb has the commands for the key-value store that agents are configured from.
package kvdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/cryptodata"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// New returns the command "kvdb".
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := cmdutil.Parent("kvdb", "Show and change the key-value store (etcd, or the one of --store) that agents are configured from",
		newList(f), newGet(f), newPut(f), newDel(f), newEncrypt(f), newKeygen(f))
	cmd.Aliases = []string{"kv"}
	cmd.Long = cmd.Short + ".\n\nA KEY that does not begin with '/' is one of the agent with the label --service-label:\n" +
		"\"config/vpp/v2/interfaces/loop1\" stands for \"/vnf-agent/vpp1/config/vpp/v2/interfaces/loop1\".\n" +
		"Secrets in values of the configuration are *** unless --show-secrets is given."
	return cmdutil.OnTargets(cmd, cmdutil.NoTarget)
}

// entry is an entry in the output of -f.
type entry struct {
	Key      string `json:"key"`
	Value    string `json:"value,omitempty"`
	Revision int64  `json:"revision"`
}

type listOptions struct {
	*cmdutil.Factory
	keysOnly bool
}

func newList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	cmd := f.Formatted(&cobra.Command{
		Use: "list [PREFIX]", Aliases: []string{"ls", "l"},
		Example: "  agentctl kvdb list config/vpp/v2/ --keys-only",
		Short:   "List the entries whose keys begin with PREFIX, or all of the agent", Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		RunE: f.Store.On(func(ctx context.Context, db kv.DB, args []string) error {
			var opts []kv.ListOption
			if o.keysOnly {
				opts = append(opts, kv.KeysOnly())
			}
			listing, err := db.List(ctx, f.Store.Key(strings.Join(args, "")), opts...)
			if err != nil {
				return err
			}
			if len(listing.Items) == 0 {
				prefix := strings.Join(args, "")
				fmt.Fprintf(f.Err, "no key begins with %s%s\n", f.Store.Key(prefix), meant(ctx, f, db, prefix, true))
			}
			return o.printEntries(o.keysOnly, listing.Items)
		}),
	})
	cmd.Flags().BoolVar(&o.keysOnly, "keys-only", false, "leave the values out")
	return cmd
}

func (o *listOptions) printEntries(keysOnly bool, items []kv.Item) error {
	entries := []entry{}
	var lines strings.Builder
	for _, it := range items {
		e := entry{Key: it.Key, Revision: it.Revision}
		fmt.Fprintln(&lines, e.Key)
		if !keysOnly {
			var err error
			if e.Value, err = shownEntry(o.Factory, it); err != nil {
				return err
			}
			fmt.Fprintln(&lines, e.Value)
		}
		entries = append(entries, e)
	}
	return output.Show(o.Printer, entries, func([]entry) error { return o.Print(lines.String()) })
}

// shownEntry returns a value of the store for output. Unless --show-secrets is
// given, it hides the secrets of configuration values, and values that cannot be
// decoded.
func shownEntry(f *cmdutil.Factory, it kv.Item) (string, error) {
	if f.Flags.ShowSecrets || bytes.HasPrefix(bytes.TrimSpace(it.Value), []byte(cryptodata.Prefix)) {
		return string(it.Value), nil
	}
	short, _ := agentKey(it.Key)
	model, ok := f.Models.Set().ForKey(short)
	if !ok {
		return string(it.Value), nil
	}
	m := model.NewInstance()
	if err := kv.Encoded(it.Value).Decode(m); err != nil {
		fmt.Fprintf(f.Err, "%s: not shown, because it cannot be read, so that it may have secrets anywhere; --show-secrets shows it\n", it.Key)
		return logging.Hidden, nil
	}
	m, hidden := logging.HideSecrets(m)
	if !hidden {
		return string(it.Value), nil
	}
	text, err := kv.Encode(m)
	return string(text), err
}

func newGet(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "get KEY", Aliases: []string{"g"}, Short: "Print the value of a key", Args: cmdutil.Args(cobra.ExactArgs(1)),
		Example: "  agentctl kvdb get config/vpp/v2/interfaces/loop1",
		RunE: f.Store.On(func(ctx context.Context, db kv.DB, args []string) error {
			item, err := db.Get(ctx, f.Store.Key(args[0]))
			if errors.Is(err, kv.ErrNotFound) {
				return fmt.Errorf("%s: %w%s", f.Store.Key(args[0]), kv.ErrNotFound, meant(ctx, f, db, args[0], false))
			}
			if err != nil {
				return err
			}
			text, err := shownEntry(f, item)
			return f.PrintText(text+"\n", err)
		}),
	}
}

type putOptions struct {
	*cmdutil.Factory
	force bool
}

func newPut(f *cmdutil.Factory) *cobra.Command {
	o := &putOptions{Factory: f}
	put := f.Store.On(func(ctx context.Context, db kv.DB, args []string) error {
		if err := db.Put(ctx, f.Store.Key(args[0]), []byte(args[1])); err != nil {
			return err
		}
		return f.Printf("OK\n")
	})
	cmd := &cobra.Command{
		Use: "put KEY VALUE", Aliases: []string{"p"}, Short: "Store the value of a key", Args: cmdutil.Args(cobra.ExactArgs(2)),
		Example: "  agentctl kvdb put config/vpp/v2/interfaces/loop1 '{\"name\": \"loop1\", \"type\": \"SOFTWARE_LOOPBACK\"}'",
		Long: "Store the value of a key. A value that agents would reject is not stored: one of the configuration\n" +
			"that is not a message of the model of its key, or has another key.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.acceptable(f.Store.Key(args[0]), []byte(args[1])); err != nil && !o.force {
				return fmt.Errorf("agents would reject the value of %s: %w; --force stores it", f.Store.Key(args[0]), err)
			}
			return put(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "store the value even if agents would reject it")
	return cmd
}

// acceptable returns why agents reject a value in a store. Keys that are not of the
// configuration and encrypted values are not checked.
func (o *putOptions) acceptable(key string, value []byte) error {
	short, ok := agentKey(key)
	if !ok || bytes.HasPrefix(bytes.TrimSpace(value), []byte(cryptodata.Prefix)) {
		return nil
	}
	codec := document.New(o.Models.Set())
	if _, known := o.Models.Set().ForKey(short); !known && codec.SuggestPrefix(short) == "" {
		return nil // a key of another program
	}
	_, err := readItem(codec, short, value)
	return err
}

// agentKey returns a key without the label of the agent.
func agentKey(key string) (short string, ok bool) {
	rest, ok := strings.CutPrefix(key, servicelabel.NewPlugin().GetAllAgentsPrefix())
	if !ok {
		return "", false
	}
	_, short, ok = strings.Cut(rest, "/")
	return short, ok
}

// NewPut is "kvdb put" as a top-level command.
func NewPut(f *cmdutil.Factory) *cobra.Command {
	cmd := newPut(f)
	cmd.Example = strings.Replace(cmd.Example, "agentctl kvdb put", "agentctl put", 1)
	cmd.Short, cmd.Aliases = "Store the value of a key in the key-value store, as kvdb put does", nil
	return cmdutil.OnTargets(cmd, cmdutil.NoTarget)
}

func newDel(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use: "del KEY", Aliases: []string{"delete", "d"}, Short: "Delete a key", Args: cmdutil.Args(cobra.ExactArgs(1)),
		Example: "  agentctl kvdb del config/vpp/v2/interfaces/loop1",
		RunE: f.Store.On(func(ctx context.Context, db kv.DB, args []string) error {
			n, err := db.Delete(ctx, f.Store.Key(args[0]))
			if err != nil {
				return err
			}
			if n == 0 {
				return f.Printf("key did not exist%s\n", meant(ctx, f, db, args[0], false))
			}
			return f.Printf("deleted\n")
		}),
	}
}

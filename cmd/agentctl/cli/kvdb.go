package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/infra/cryptodata"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// etcdDialTimeout is the default timeout of the connection.
const etcdDialTimeout = 3 * time.Second

// unbounded stands for no timeout.
const unbounded = 1000 * time.Hour

func (a *app) kvdbCommand() *cobra.Command {
	cmd := parent("kvdb", "Show and change what is in the key-value store (etcd, or that of --store) that agents are configured from",
		a.kvdbList(), a.kvdbGet(), a.kvdbPut(), a.kvdbDel(), a.kvdbEncrypt(), a.kvdbKeygen())
	cmd.Aliases = []string{"kv"}
	cmd.Long = cmd.Short + ".\n\nA KEY that does not begin with '/' is one of the agent with the label --service-label:\n" +
		"\"config/vpp/v2/interfaces/loop1\" stands for \"/vnf-agent/vpp1/config/vpp/v2/interfaces/loop1\".\n" +
		"Secrets in values of the configuration are *** unless --show-secrets is given."
	return cmd
}

// key expands a short key.
func (a *app) key(key string) string {
	if strings.HasPrefix(key, "/") {
		return key
	}
	return servicelabel.NewPlugin().GetDifferentAgentPrefix(a.global.label) + key
}

// onStore returns a command that does f with the store.
func (a *app) onStore(f func(ctx context.Context, db kv.DB, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.withStore(cmd.Context(), func(ctx context.Context, db kv.DB) error { return f(ctx, db, args) })
	}
}

// entry is an entry in the output of -f.
type entry struct {
	Key      string `json:"key"`
	Value    string `json:"value,omitempty"`
	Revision int64  `json:"revision"`
}

func (a *app) kvdbList() *cobra.Command {
	var keysOnly bool
	cmd := a.formatted(&cobra.Command{
		Use: "list [PREFIX]", Aliases: []string{"ls", "l"},
		Short: "List the entries whose keys begin with PREFIX, or all of the agent", Args: args(cobra.MaximumNArgs(1)),
		RunE: a.onStore(func(ctx context.Context, db kv.DB, args []string) error {
			var opts []kv.ListOption
			if keysOnly {
				opts = append(opts, kv.KeysOnly())
			}
			listing, err := db.List(ctx, a.key(strings.Join(args, "")), opts...)
			if err != nil {
				return err
			}
			return a.printEntries(keysOnly, listing.Items)
		}),
	})
	cmd.Flags().BoolVar(&keysOnly, "keys-only", false, "leave the values out")
	return cmd
}

func (a *app) printEntries(keysOnly bool, items []kv.Item) error {
	entries := []entry{}
	var lines strings.Builder
	for _, it := range items {
		e := entry{Key: it.Key, Revision: it.Revision}
		fmt.Fprintln(&lines, e.Key)
		if !keysOnly {
			var err error
			if e.Value, err = a.shownEntry(it); err != nil {
				return err
			}
			fmt.Fprintln(&lines, e.Value)
		}
		entries = append(entries, e)
	}
	return show(a, entries, func([]entry) error { return a.print(lines.String()) })
}

// shownEntry returns a value of the store for output. Unless --show-secrets is
// given, it hides the secrets of configuration values, and values that cannot be
// decoded.
func (a *app) shownEntry(it kv.Item) (string, error) {
	if a.global.showSecrets || bytes.HasPrefix(bytes.TrimSpace(it.Value), []byte(cryptodata.Prefix)) {
		return string(it.Value), nil
	}
	short, _ := agentKey(it.Key)
	model, ok := a.set().ForKey(short)
	if !ok {
		return string(it.Value), nil
	}
	m := model.NewInstance()
	if err := kv.Encoded(it.Value).Decode(m); err != nil {
		fmt.Fprintf(a.Err, "%s: not shown, because it cannot be read, so that it may have secrets anywhere; --show-secrets shows it\n", it.Key)
		return logging.Hidden, nil
	}
	m, hidden := logging.HideSecrets(m)
	if !hidden {
		return string(it.Value), nil
	}
	text, err := kv.Encode(m)
	return string(text), err
}

func (a *app) kvdbGet() *cobra.Command {
	return &cobra.Command{
		Use: "get KEY", Aliases: []string{"g"}, Short: "Print the value of a key", Args: args(cobra.ExactArgs(1)),
		RunE: a.onStore(func(ctx context.Context, db kv.DB, args []string) error {
			item, err := db.Get(ctx, a.key(args[0]))
			if errors.Is(err, kv.ErrNotFound) {
				return fmt.Errorf("%s: %w", a.key(args[0]), kv.ErrNotFound)
			}
			if err != nil {
				return err
			}
			text, err := a.shownEntry(item)
			return a.printText(text+"\n", err)
		}),
	}
}

func (a *app) kvdbPut() *cobra.Command {
	var force bool
	put := a.onStore(func(ctx context.Context, db kv.DB, args []string) error {
		if err := db.Put(ctx, a.key(args[0]), []byte(args[1])); err != nil {
			return err
		}
		return a.printf("OK\n")
	})
	cmd := &cobra.Command{
		Use: "put KEY VALUE", Aliases: []string{"p"}, Short: "Store the value of a key", Args: args(cobra.ExactArgs(2)),
		Long: "Store the value of a key. A value that agents would reject is not stored: one of the configuration\n" +
			"that is not a message of the model of its key, or has another key.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.acceptable(a.key(args[0]), []byte(args[1])); err != nil && !force {
				return fmt.Errorf("agents would reject the value of %s: %w; --force stores it", a.key(args[0]), err)
			}
			return put(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "store the value even if agents would reject it")
	return cmd
}

// acceptable returns why agents reject a value in a store. Keys that are not of the
// configuration and encrypted values are not checked.
func (a *app) acceptable(key string, value []byte) error {
	short, ok := agentKey(key)
	if !ok || bytes.HasPrefix(bytes.TrimSpace(value), []byte(cryptodata.Prefix)) {
		return nil
	}
	codec := document.New(a.set())
	if _, known := a.set().ForKey(short); !known && codec.SuggestPrefix(short) == "" {
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

// putCommand is "kvdb put" as a top-level command.
func (a *app) putCommand() *cobra.Command {
	cmd := a.kvdbPut()
	cmd.Short, cmd.Aliases = "Store the value of a key in the key-value store, as kvdb put does", nil
	return cmd
}

func (a *app) kvdbDel() *cobra.Command {
	return &cobra.Command{
		Use: "del KEY", Aliases: []string{"delete", "d"}, Short: "Delete a key", Args: args(cobra.ExactArgs(1)),
		RunE: a.onStore(func(ctx context.Context, db kv.DB, args []string) error {
			n, err := db.Delete(ctx, a.key(args[0]))
			if err != nil {
				return err
			}
			if n == 0 {
				return a.printf("key did not exist\n")
			}
			return a.printf("deleted\n")
		}),
	}
}

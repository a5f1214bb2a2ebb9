package kvdb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	rpc "google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/client/remote"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// defaultTxnOps is the number of items in one transaction, the limit of etcd.
const defaultTxnOps = 128

// imported is a line of a file to import.
type imported struct {
	key   string // without the prefix of an agent
	text  []byte // JSON
	value proto.Message
}

type importOptions struct {
	*cmdutil.Factory
	ops      int
	bound    time.Duration
	overGRPC bool
}

// NewImport returns the command "import".
func NewImport(f *cmdutil.Factory) *cobra.Command {
	o := &importOptions{Factory: f}
	cmd := &cobra.Command{
		Use: "import FILE", Args: cmdutil.Args(cobra.ExactArgs(1)),
		Short: "Put the items of a file into the key-value store, or into the agent over gRPC",
		Long: "Puts the items of a file (\"-\" is the standard input) into the key-value store of the agent\n" +
			"with the label --service-label, or with --grpc into the agent itself. Each line of the file is a\n" +
			"key (short, or with the prefix of the agent), a blank and an item in JSON; lines that begin with\n" +
			"'#' are comments. If there is a mistake nothing is imported.",
		Example: `  echo 'config/vpp/v2/interfaces/loop1 {"name": "loop1", "type": "SOFTWARE_LOOPBACK"}' | agentctl import -`,
		RunE:    o.run,
	}
	cmd.Flags().IntVar(&o.ops, "txops", defaultTxnOps, "`number` of items in one transaction")
	cmd.Flags().DurationVarP(&o.bound, "time", "t", 30*time.Second, "timeout of the whole import")
	cmd.Flags().BoolVar(&o.overGRPC, "grpc", false, "into the agent, over gRPC, instead of the store")
	cmdutil.FlagOnTargets(cmd, "grpc", cmdutil.EachTarget)
	return cmdutil.OnTargets(cmd, cmdutil.NoTarget)
}

func (o *importOptions) run(cmd *cobra.Command, args []string) error {
	if o.ops < 1 {
		return exit.Usagef("--txops: %d: expected 1 or more", o.ops)
	}
	if o.bound <= 0 {
		return exit.Usagef("--time: %v: expected more than 0", o.bound)
	}
	text, err := cmdutil.ReadDocument(cmd, args[0])
	if err != nil {
		return err
	}
	items, err := o.parseImport(args[0], text)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.bound)
	defer cancel()
	put := o.importIntoStore
	if o.overGRPC {
		put = o.importIntoAgent
	}
	if err := put(ctx, items, o.ops); err != nil {
		return err
	}
	return o.Printf("imported %d items\n", len(items))
}

// parseImport parses a file and prints its errors.
func (o *importOptions) parseImport(name string, text []byte) ([]imported, error) {
	codec := document.New(o.Models.Set())
	prefix := servicelabel.NewPlugin().GetDifferentAgentPrefix(o.Flags.Label)
	var items []imported
	lines := map[string]int{} // of the keys
	mistakes, n := 0, 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		item, err := parseImportLine(codec, prefix, line)
		if first := lines[item.key]; err == nil && first > 0 {
			err = fmt.Errorf("%s: second value for this key, the first is in line %d", item.key, first)
		}
		lines[item.key] = n
		if err != nil {
			mistakes++
			fmt.Fprintf(o.Err, "%s:%d: %v\n", name, n, err)
		}
		items = append(items, item)
	}
	if mistakes > 0 {
		return nil, outcome.Refusal(name, mistakes)
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("%s: there is nothing to import", name)
	}
	return items, nil
}

func parseImportLine(codec *document.Codec, prefix, line string) (it imported, err error) {
	i := strings.IndexAny(line, " \t")
	if i < 0 {
		return it, errors.New("expected a key, a blank and an item in JSON")
	}
	it.key, it.text = strings.TrimPrefix(line[:i], prefix), []byte(strings.TrimSpace(line[i:]))
	if strings.HasPrefix(it.key, "/") {
		return it, fmt.Errorf("%s: expected a key of the agent, below %s (--service-label)", it.key, prefix)
	}
	if it.value, err = readItem(codec, it.key, it.text); err != nil {
		return it, fmt.Errorf("%s: %w", it.key, err)
	}
	return it, nil
}

// readItem reads the value of a key as agents do. The error names the wrong field, or says
// that the value has another key.
func readItem(codec *document.Codec, key string, value []byte) (proto.Message, error) {
	model, known := codec.Models().ForKey(key)
	if !known {
		if near := codec.SuggestPrefix(key); near != "" {
			return nil, fmt.Errorf("no model has such a key; did you mean %s...?", near)
		}
		return nil, errors.New("no model has such a key; 'agentctl model list' shows the prefixes")
	}
	item := model.NewInstance()
	if err := kv.Encoded(value).Decode(item); err != nil {
		// The codec of documents names the field, and what it was probably meant to be.
		if errs := codec.ReadMessage(value, model.NewInstance().ProtoReflect()); len(errs) > 0 {
			err = errors.New(strings.TrimPrefix(errs[0].Field+": "+errs[0].Msg, ": "))
		}
		return nil, err
	}
	belongs, err := model.KeyOf(item)
	if err == nil && belongs != key {
		err = fmt.Errorf("the item has the key %s", belongs)
	}
	return item, err
}

func (o *importOptions) importIntoStore(ctx context.Context, items []imported, atOnce int) error {
	return o.Store.With(ctx, func(ctx context.Context, db kv.DB) error {
		return inParts(items, atOnce, func(part []imported) error {
			ops := make([]kv.Op, len(part))
			for i, it := range part {
				var line bytes.Buffer
				if err := json.Compact(&line, it.text); err != nil {
					return fmt.Errorf("%s: %w", it.key, err)
				}
				ops[i] = kv.Op{Key: o.Store.Key(it.key), Value: line.Bytes()}
			}
			return db.Txn(ctx, ops...)
		})
	})
}

func (o *importOptions) importIntoAgent(ctx context.Context, items []imported, atOnce int) error {
	set := o.Models.Set()
	return o.GRPC.WithConn(ctx, true, func(ctx context.Context, conn *rpc.ClientConn) error {
		c, err := remote.New(ctx, conn, set)
		if err != nil {
			return err
		}
		return inParts(items, atOnce, func(part []imported) error {
			request := c.ChangeRequest().Describe("agentctl import")
			for _, it := range part {
				request.Update(it.value)
			}
			results, err := request.Send(ctx)
			for _, r := range results {
				if r.Err != nil {
					fmt.Fprintf(o.Err, "%s: %v\n", r.Key, r.Err)
				}
			}
			return err
		})
	})
}

// inParts calls put with so many items at once.
func inParts(items []imported, atOnce int, put func(part []imported) error) error {
	done := 0
	for part := range slices.Chunk(items, atOnce) {
		if err := put(part); err != nil {
			return fmt.Errorf("after %d of %d items: %w", done, len(items), err)
		}
		done += len(part)
	}
	return nil
}

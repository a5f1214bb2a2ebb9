// Command standalone shows the KV Scheduler as a library, for a southbound
// that is no network at all: directories, files and processes below one
// directory, which it brings to what a YAML file says.
//
//	go run ./examples/standalone                             # the state in state.yaml, in a temporary directory
//	go run ./examples/standalone -root /tmp/s -f my.yaml     # yours; change the file and run it again
//	go run ./examples/standalone -root /tmp/s -f my.yaml -dry-run
//
// A file needs its directory and a process its files. A file whose content
// changes is made again, so the processes on it are stopped before and started
// after; a new mode is set in place. Nothing of this order is in the program:
// it follows from the descriptors at the end of this file. What they describe
// is in system.go, which knows nothing of a scheduler. Everything is read back at the
// start, so that a second run does nothing, and one after a crash does the
// rest. All below the directory is managed: what the YAML does not have is
// removed.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

//go:embed state.yaml
var example []byte

func main() {
	root := flag.String("root", "", "the directory to manage; a temporary one if empty")
	file := flag.String("f", "", "the desired state; the state of the example if empty")
	dryRun := flag.Bool("dry-run", false, "print what would be done")
	flag.Parse()
	if err := start(context.Background(), *root, *file, *dryRun); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func start(ctx context.Context, root, file string, dryRun bool) (err error) {
	state := example
	if file != "" {
		if state, err = os.ReadFile(file); err != nil {
			return err
		}
	}
	if root == "" {
		if root, err = os.MkdirTemp("", "standalone"); err != nil {
			return err
		}
		defer func() { // stop the processes as well
			err = errors.Join(err, apply(ctx, os.Stdout, root, nil, false), os.RemoveAll(root))
		}()
	}
	return apply(ctx, os.Stdout, root, state, dryRun)
}

// apply brings what is below root to the wanted state.
func apply(ctx context.Context, out io.Writer, root string, state []byte, dryRun bool) error {
	var wanted map[string]map[string]any
	if err := yaml.Unmarshal(state, &wanted); err != nil {
		return fmt.Errorf("read the wanted state: %w", err)
	}
	s := system{root}
	if err := s.open(dryRun); err != nil {
		return err
	}
	scheduler, stop, err := kvscheduler.New(ctx, []*api.KVDescriptor{directories(s), files(s), processes(s)})
	if err != nil {
		return err
	}
	defer stop()
	txn := scheduler.StartNBTransaction()
	for key, fields := range wanted {
		value, err := structpb.NewStruct(fields)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		txn.SetValue(key, value)
	}
	resync := api.WithResync(api.FullResync, false)
	if dryRun {
		plan, err := txn.Plan(ctx, resync)
		if plan != nil {
			show(out, plan.Operations)
		}
		return err
	}
	seq, err := txn.Commit(ctx, resync)
	if record := scheduler.GetRecordedTransaction(seq); record != nil {
		show(out, record.Executed)
	}
	return err
}

func show(out io.Writer, ops []api.RecordedTxnOp) {
	signs := map[api.TxnOperation]string{pb.TxnOperation_CREATE: "+", pb.TxnOperation_UPDATE: "~", pb.TxnOperation_DELETE: "-"}
	last := map[string]pb.ValueState{}
	for _, op := range ops {
		last[op.Key] = op.NewState
		switch {
		case op.NewErrMsg != "":
			fmt.Fprintf(out, "! %s: %s\n", op.Key, op.NewErrMsg)
		case !op.NOOP:
			fmt.Fprintf(out, "%s %s\n", signs[op.Operation], op.Key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(last)) {
		if state := last[key]; state == pb.ValueState_PENDING || state == pb.ValueState_UNIMPLEMENTED {
			fmt.Fprintf(out, "? %s is %s\n", key, state)
		}
	}
	if len(ops) == 0 {
		fmt.Fprintln(out, "nothing to do")
	}
}

// describe is what the descriptors of all kinds have in common. The values are
// structpb.Struct, so that no message has to be compiled.
func describe[M any](kind string, d api.Descriptor[value, M]) *api.KVDescriptor {
	d.Name, d.NBKeyPrefix = kind, kind+"/"
	d.KeySelector = func(key string) bool { return strings.HasPrefix(key, kind+"/") }
	d.Validate = func(key string, _ value) error { return checkPath(path(key)) }
	return api.Adapt(&d)
}

// inDirectory: a path needs its directory.
func inDirectory(key string, _ value) []api.Dependency {
	if dir := filepath.Dir(path(key)); dir != "." {
		return []api.Dependency{api.DependsOn("dir/" + dir)}
	}
	return nil
}

func directories(s system) *api.KVDescriptor {
	return describe("dir", api.Descriptor[value, any]{
		Dependencies: inDirectory,
		Create:       func(key string, _ value) (any, error) { return nil, s.makeDir(path(key)) },
		Delete:       func(key string, _ value, _ any) error { return s.remove(path(key)) },
		Retrieve:     func([]api.KV[value, any]) ([]api.KV[value, any], error) { return found[any]("dir/", s.dirs) },
	})
}

func files(s system) *api.KVDescriptor {
	return describe("file", api.Descriptor[value, any]{
		Dependencies:    inDirectory,
		ValueComparator: func(_ string, a, b value) bool { return content(a) == content(b) && mode(a) == mode(b) },
		Create:          func(key string, v value) (any, error) { return nil, s.write(path(key), content(v), mode(v)) },
		Update:          func(key string, _, v value, _ any) (any, error) { return nil, s.setMode(path(key), mode(v)) },
		UpdateWithRecreate: func(_ string, from, to value, _ any) bool {
			return content(from) != content(to) // what stands on it goes down and up with it
		},
		Delete:   func(key string, _ value, _ any) error { return s.remove(path(key)) },
		Retrieve: func([]api.KV[value, any]) ([]api.KV[value, any], error) { return found[any]("file/", s.files) },
	})
}

func processes(s system) *api.KVDescriptor {
	return describe("process", api.Descriptor[value, process]{
		WithMetadata: true, // which process it is
		Dependencies: func(_ string, v value) (deps []api.Dependency) {
			for _, file := range list(v, "files") {
				deps = append(deps, api.DependsOn("file/"+file))
			}
			return deps
		},
		Create:   func(key string, v value) (process, error) { return s.launch(path(key), v) },
		Delete:   func(key string, _ value, p process) error { return s.kill(path(key), p) },
		Retrieve: func([]api.KV[value, process]) ([]api.KV[value, process], error) { return found("process/", s.running) },
	})
}

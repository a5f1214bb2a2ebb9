package docs

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/examples/tutorials/05_kv-scheduler/model"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// worded is a plugin with the code of the right column in "Words of the Go code".
type worded struct {
	api.KVScheduler
	Log     logging.PluginLogger
	Watcher datasync.KeyValProtoWatcher
}

// NewItemDescriptor returns a descriptor, as the tutorials do.
func NewItemDescriptor(log logging.Logger) *api.KVDescriptor {
	log.Info("makes a descriptor")
	return &api.KVDescriptor{
		ValueTypeName: string(proto.MessageName(&model.Interface{})),
		Dependencies: func(string, proto.Message) []api.Dependency {
			return []api.Dependency{{
				AnyOf: api.AnyOfDependency{KeySelector: func(key string) bool { return key == "eth0" }},
			}}
		},
	}
}

func (p *worded) descriptors(log logging.Logger, name, label string) (any, error) {
	if err := p.RegisterKVDescriptor(NewItemDescriptor(log)); err != nil {
		p.Log.Error("x:", err)
		p.Log.Error(err)
		p.Log.Error("x", "error", err)
		return nil, err
	}
	names, err := idxmap.Of[any](p.GetMetadataMap(name))
	if err != nil {
		return nil, err
	}
	value, _ := names.Get(label)
	return value, nil
}

func (p *worded) watch(name string, changes chan datasync.ChangeEvent, resyncs chan datasync.ResyncEvent, prefixes ...string) (datasync.WatchRegistration, error) {
	return p.Watcher.Watch(name, changes, resyncs, prefixes...)
}

func (p *worded) commit(ctx context.Context, txn api.Txn, period time.Duration, maxCount int, expBackoff bool) error {
	options := []api.TxnOption{api.WithRetryDefault(), api.WithRetryMaxCount(3)}
	if _, err := txn.Commit(ctx, options...); err != nil {
		return err
	}
	if _, err := txn.Commit(kvscheduler.WithRetry(ctx, period, maxCount, expBackoff)); err != nil {
		return err
	}
	_, err := txn.Commit(ctx, api.WithRetryDefault())
	return err
}

func (p *worded) push(key string, value proto.Message, metadata api.Metadata, change datasync.ChangeEvent, resync datasync.ResyncEvent) {
	err := p.PushSBNotification(api.KVWithMetadata{Key: key, Value: value, Metadata: metadata})
	change.Done(err)
	resync.Done(err)
}

// ownInterfaces is a descriptor of one's own for interfaces of VPP.
func ownInterfaces() *api.KVDescriptor {
	return &api.KVDescriptor{Name: "own-interfaces", Partial: true}
}

// The code is compiled, and not executed.
var _ = []any{ownInterfaces, (*worded).descriptors, (*worded).watch, (*worded).commit, (*worded).push}

// TestRightColumnsCompile checks that the Go code in the right columns of the tables for programs is in a
// file of this directory, which compiles.
func TestRightColumnsCompile(t *testing.T) {
	t.Parallel()
	compiled := compiledTests(t)
	checked := 0
	for _, heading := range []string{"## Words of the Go code", "## Calls of Go code"} {
		for _, row := range tableOf(t, heading) {
			for _, code := range codeIn(row[1]) {
				if !strings.ContainsAny(code, "({ ") || strings.HasPrefix(code, "option ") || strings.HasPrefix(code, "agentctl ") {
					continue // a name, a line of a .proto file, or a command
				}
				if checked++; !strings.Contains(compiled, code) {
					t.Errorf("%s: no test of docs has %s", row[0], code)
				}
			}
		}
	}
	if checked < 40 {
		t.Errorf("found %d pieces of code, expected 40 or more", checked)
	}
}

var comments = regexp.MustCompile(`(?m)^\s*//.*$`)

// compiledTests returns the code of the tests of this directory, without comments.
func compiledTests(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(comments.ReplaceAllString(string(text), ""))
	}
	return all.String()
}

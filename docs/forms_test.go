package docs

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/datasync/kvdbsync"
	"github.com/tenuto-dev/tenuto/infra/health/statuscheck"
	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
	"github.com/tenuto-dev/tenuto/infra/kv/consul"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/keyval"
	"github.com/tenuto-dev/tenuto/infra/kv/redis"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// The interfaces of the predecessor, with its methods, are implemented where this file
// compiles.
var (
	_ interface {
		RegisterKVDescriptor(d ...*api.KVDescriptor) error
		GetRegisteredNBKeyPrefixes() []string
		StartNBTransaction() api.Txn
		TransactionBarrier()
		PushSBNotification(kv ...api.KVWithMetadata) error
		GetMetadataMap(descriptor string) idxmap.NamedMapping
		GetValueStatus(key string) *api.BaseValueStatus
		GetTransactionHistory(since, until time.Time) api.RecordedTxns
		GetRecordedTransaction(seq uint64) *api.RecordedTxn
		ValidateSemantically(messages []proto.Message) error
		WatchNBKeyPrefixRegistration(prefix string) (<-chan struct{}, error)
		DumpValuesByDescriptor(name string, view api.View) ([]api.KVWithMetadata, error)
		DumpValuesByKeyPrefix(prefix string, view api.View) ([]api.KVWithMetadata, error)
	} = (api.KVScheduler)(nil)
	_ interface {
		Run() error
		Stop() error
		Wait() error
		After() <-chan struct{}
		Error() error
	} = (*agent.Agent)(nil)
	_ infra.Plugin = (*kvdbsync.Plugin)(nil)
	_ interface {
		datasync.KeyValProtoWatcher
		datasync.KeyProtoValWriter
	} = (*kvdbsync.Plugin)(nil)
	_ interface {
		LoadValue(cfg any) (found bool, err error)
		GetConfigName() string
	} = config.PluginConfig(nil)
	_ interface {
		logging.Logger
		NewLogger(name string) logging.Logger
	} = logging.PluginLogger(nil)
	_ rest.HTTPHandlers              = (*rest.Plugin)(nil)
	_ servicelabel.ReaderAPI         = (*servicelabel.Plugin)(nil)
	_ statuscheck.PluginStatusWriter = (*statuscheck.Plugin)(nil)
	_ idxmap.NamedMapping            = (*idxmap.Store)(nil)
	_                                = []keyval.KvProtoPlugin{&etcd.Plugin{}, &consul.Plugin{}, &redis.Plugin{}, &bolt.Plugin{}}

	_ = []agent.Option{
		agent.Plugins(), agent.AllPlugins(), agent.Version("v1", "2026-01-01", "abc"), agent.Context(context.Background()),
		agent.QuitSignals(), agent.QuitOnClose(nil), agent.StartTimeout(time.Second), agent.StopTimeout(time.Second),
	}
	_ = []error{
		api.ErrCombinedDownstreamResyncWithChange, api.ErrRevertNotSupportedWithResync, api.ErrClosedScheduler, api.ErrTxnWaitCanceled,
		api.ErrTxnQueueFull, api.ErrUnimplementedCreate, api.ErrDescriptorExists,
		api.ErrInvalidValueType("key", nil), api.ErrInvalidMetadataType("key"), api.NewInvalidValueError(errors.New("no"), "field"),
	}
	_ = []func(context.Context) context.Context{
		kvscheduler.WithRevert, kvscheduler.WithSimulation, kvscheduler.WithoutBlocking, kvscheduler.WithRetryDefault,
	}
	_ = servicelabel.UseLabel
)

// SetupLog gives a plugin without an agent its logger.
func TestSetupLog(t *testing.T) {
	t.Parallel()
	d := infra.PluginDeps{}
	d.SetName("alone")
	d.SetupLog()
	if d.Log == nil || d.Log.GetName() != "alone" || d.Cfg != nil {
		t.Errorf("got logger %v and configuration %v, expected a logger with the name alone only", d.Log, d.Cfg)
	}
}

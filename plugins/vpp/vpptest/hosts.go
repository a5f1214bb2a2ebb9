package vpptest

import (
	"strings"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	linuxmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
)

// SetHostInterface notifies the scheduler that an interface of the kernel is up,
// or gone, as the Linux plugins do.
func (b *Harness) SetHostInterface(name string, up bool) {
	b.tb.Helper()
	b.SetLinux(linuxmodel.HostInterfaceKey.Key(name), up)
}

// SetLinux notifies the scheduler that Linux has a value, or no longer has it.
func (b *Harness) SetLinux(key string, exists bool) {
	b.tb.Helper()
	kv := api.KVWithMetadata{Key: key, Origin: api.FromSB}
	if exists {
		kv.Value = &emptypb.Empty{}
	}
	if err := b.Scheduler.PushSBNotification(kv); err != nil {
		b.tb.Fatalf("notification of %s: %v", key, err)
	}
	b.Scheduler.TransactionBarrier()
}

// linux describes the values of Linux that tests announce.
func linux() *api.KVDescriptor {
	return api.Adapt(&api.Descriptor[*emptypb.Empty, api.Metadata]{
		Name: "test-linux",
		KeySelector: func(key string) bool {
			return strings.HasPrefix(key, "linux/") || strings.HasPrefix(key, linuxmodel.InterfaceModel.KeyPrefix())
		},
	})
}

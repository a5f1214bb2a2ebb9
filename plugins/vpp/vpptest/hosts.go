package vpptest

import (
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	linuxmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
)

// SetHostInterface tells the scheduler that an interface of the kernel is up,
// or gone, as the Linux plugins do.
func (b *Harness) SetHostInterface(name string, up bool) {
	b.tb.Helper()
	kv := api.KVWithMetadata{Key: linuxmodel.HostInterfaceKey.Key(name), Origin: api.FromSB}
	if up {
		kv.Value = &emptypb.Empty{}
	}
	if err := b.Scheduler.PushSBNotification(kv); err != nil {
		b.tb.Fatalf("notification of %s: %v", name, err)
	}
	b.Scheduler.TransactionBarrier()
}

// hostInterfaces describes the interfaces of the kernel that tests announce.
func hostInterfaces() *api.KVDescriptor {
	return api.Adapt(&api.Descriptor[*emptypb.Empty, api.Metadata]{
		Name: "test-host-interface",
		KeySelector: func(key string) bool {
			_, ok := linuxmodel.ParseHostInterfaceKey(key)
			return ok
		},
	})
}

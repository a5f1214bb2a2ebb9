package descriptor

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	linuxmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// An RDMA interface lets VPP use a network card beside the kernel, whose
// interface of it the value waits for. VPP tells nothing of it but the name,
// which is that in the kernel: the mode and the queues are taken to be as
// wanted.

const (
	defaultRdmaQueue = 1024
	minRdmaQueue     = 256
	maxRdmaQueue     = 32768
)

// rdmaCalls is what RDMA interfaces need of VPP.
type rdmaCalls interface {
	CreateRdma(ctx context.Context, p vppcalls.RdmaParams) (swIfIndex uint32, err error)
	DeleteRdma(ctx context.Context, swIfIndex uint32) error
}

type rdma struct {
	kindDefaults
	vpp rdmaCalls
}

func (rdma) traits() traits {
	return traits{macInPlace: true, macAfter: true, link: func() proto.Message { return &interfaces.RDMALink{} }}
}

func (rdma) check(i *interfaces.Interface) error {
	l := i.GetRdma()
	var errs []error
	switch n := l.GetHostIfName(); {
	case n == "":
		errs = append(errs, invalid("rdma.host_if_name", "empty, expected the name of an interface of the kernel"))
	case len(n) > maxHostName:
		errs = append(errs, invalid("rdma.host_if_name", "%q has %d bytes, expected at most %d", n, len(n), maxHostName))
	}
	if interfaces.RDMALink_Mode_name[int32(l.GetMode())] == "" {
		errs = append(errs, invalid("rdma.mode", "%s, expected AUTO, IBV or DV", l.GetMode()))
	}
	errs = append(errs, atMost("rdma.rxq_num", l.GetRxqNum(), 65535))
	for _, queue := range []struct {
		field string
		size  uint32
	}{{"rdma.rxq_size", l.GetRxqSize()}, {"rdma.txq_size", l.GetTxqSize()}} {
		if n := queue.size; n != 0 && (n < minRdmaQueue || n > maxRdmaQueue || n&(n-1) != 0) {
			errs = append(errs, invalid(queue.field, "%d, expected a power of 2 from %d to %d, or 0 for %d",
				n, minRdmaQueue, maxRdmaQueue, defaultRdmaQueue))
		}
	}
	return errors.Join(errs...)
}

func (rdma) dependencies(i *interfaces.Interface) []kvs.Dependency {
	return []kvs.Dependency{{
		Label: "rdma-host-interface-exists", Key: linuxmodel.HostInterfaceKey.Key(i.GetRdma().GetHostIfName()),
	}}
}

// fullRdma returns the link with the defaults filled in.
func fullRdma(i *interfaces.Interface) *interfaces.RDMALink {
	l := &interfaces.RDMALink{}
	if have := i.GetRdma(); have != nil {
		l = proto.CloneOf(have)
	}
	l.RxqNum = orDefault(l.RxqNum, 1)
	l.RxqSize = orDefault(l.RxqSize, defaultRdmaQueue)
	l.TxqSize = orDefault(l.TxqSize, defaultRdmaQueue)
	return l
}

func (rdma) sameLink(a, b *interfaces.Interface) bool { return proto.Equal(fullRdma(a), fullRdma(b)) }

func (k rdma) create(ctx context.Context, i *interfaces.Interface, _ *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	l := fullRdma(i)
	idx, err := k.vpp.CreateRdma(ctx, vppcalls.RdmaParams{
		HostIfName: l.HostIfName, Mode: uint32(l.Mode),
		RxQueues: uint16(l.RxqNum), RxQueueSize: uint16(l.RxqSize), TxQueueSize: uint16(l.TxqSize),
	})
	return &ifaceidx.IfMeta{SwIfIndex: idx}, err
}

func (k rdma) remove(ctx context.Context, _ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.vpp.DeleteRdma(ctx, m.SwIfIndex)
}

func (rdma) claims(d vppcalls.Details) bool {
	return !d.SubInterface && d.DevType == vppcalls.RdmaDevice
}

func (rdma) read(context.Context, func(uint32) string) (recogniser, error) {
	return func(d vppcalls.Details, wanted, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		l := fullRdma(wanted)
		l.HostIfName = d.Name
		i.Type, i.Link = interfaces.Interface_RDMA, &interfaces.Interface_Rdma{Rdma: l}
		return true
	}, nil
}

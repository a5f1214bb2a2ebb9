package descriptor

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/rdma"
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
type rdmaCards struct {
	linkTable[rdma.RdmaCreateV4]
}

const defaultRdmaQueue = 1024

var rdmaTable = linkSpec[rdma.RdmaCreateV4]{
	op:     declareLinks("interface RDMA", "rdma", linkCalls[rdma.RdmaCreateV4]{set: setRdmaV4}, linkCalls[rdma.RdmaCreateV4]{set: setRdmaV3}),
	device: "RDMA interface",
	facts:  traits{macInPlace: true, macAfter: true, link: func() proto.Message { return &interfaces.RDMALink{} }},
	valid: func(i *interfaces.Interface) []error {
		l := i.GetRdma()
		errs := []error{atMost("rdma.rxq_num", l.GetRxqNum(), 65535)}
		switch n := l.GetHostIfName(); {
		case n == "":
			errs = append(errs, invalid("rdma.host_if_name", "empty, expected the name of an interface of the kernel"))
		case len(n) > maxHostName:
			errs = append(errs, invalid("rdma.host_if_name", "%q has %d bytes, expected at most %d", n, len(n), maxHostName))
		}
		if interfaces.RDMALink_Mode_name[int32(l.GetMode())] == "" {
			errs = append(errs, invalid("rdma.mode", "%s, expected AUTO, IBV or DV", l.GetMode()))
		}
		queue := func(field string, n uint32) {
			if n != 0 && (n < 256 || n > 32768 || n&(n-1) != 0) {
				errs = append(errs, invalid(field, "%d, expected a power of 2 from 256 to 32768, or 0 for %d", n, defaultRdmaQueue))
			}
		}
		queue("rdma.rxq_size", l.GetRxqSize())
		queue("rdma.txq_size", l.GetTxqSize())
		return errs
	},
	needs: func(i *interfaces.Interface) []kvs.Dependency {
		return []kvs.Dependency{{
			Label: "rdma-host-interface-exists", Key: linuxmodel.HostInterfaceKey.Key(i.GetRdma().GetHostIfName()),
		}}
	},
	params: func(i *interfaces.Interface, _ ifIndex) (rdma.RdmaCreateV4, error) {
		l := i.GetRdma()
		return rdma.RdmaCreateV4{
			HostIf: l.GetHostIfName(), Name: l.GetHostIfName(), Mode: rdma.RdmaMode(l.GetMode()), RxqNum: uint16(orDefault(l.GetRxqNum(), 1)),
			RxqSize: uint16(orDefault(l.GetRxqSize(), defaultRdmaQueue)), TxqSize: uint16(orDefault(l.GetTxqSize(), defaultRdmaQueue)),
		}, nil
	},
	delete: func(idx ifIndex) (req, reply api.Message) {
		return &rdma.RdmaDelete{SwIfIndex: idx}, &rdma.RdmaDeleteReply{}
	},
	gone: []api.VPPApiError{api.INVALID_INTERFACE},
}

func setRdmaV4(_ bool, p rdma.RdmaCreateV4) (req, reply api.Message, swIfIndex *ifIndex) {
	done := &rdma.RdmaCreateV4Reply{}
	return &p, done, &done.SwIfIndex
}

// setRdmaV3 writes the mode in the byte order of the host, in which VPP reads
// it in this message.
func setRdmaV3(_ bool, p rdma.RdmaCreateV4) (req, reply api.Message, swIfIndex *ifIndex) {
	done, v3 := &rdma.RdmaCreateV3Reply{}, rdma.RdmaCreateV3(p)
	v3.Mode = rdma.RdmaMode(bits.ReverseBytes32(uint32(p.Mode)))
	return &v3, done, &done.SwIfIndex
}

// create says what VPP does not say itself: without RDMA devices it reports the
// success of creating local0.
func (k rdmaCards) create(ctx context.Context, i *interfaces.Interface, mac *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	m, err := k.linkTable.create(ctx, i, mac)
	switch {
	case err == nil && m.SwIfIndex == 0:
		return nil, errors.New("the machine has no RDMA devices; is the kernel module ib_uverbs loaded?")
	case errors.Is(err, api.INVALID_INTERFACE):
		err = fmt.Errorf("host interface %q is not one of a device that VPP can use by RDMA (mlx5): %w", i.GetRdma().GetHostIfName(), err)
	}
	return m, err
}

func (k rdmaCards) read(context.Context, func(uint32) string) (recogniser, error) {
	return func(d vppcalls.Details, wanted, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		l := &interfaces.RDMALink{}
		proto.Merge(l, wanted.GetRdma())
		l.HostIfName, l.RxqNum = d.Name, orDefault(l.RxqNum, 1)
		l.RxqSize, l.TxqSize = orDefault(l.RxqSize, defaultRdmaQueue), orDefault(l.TxqSize, defaultRdmaQueue)
		i.Type, i.Link = interfaces.Interface_RDMA, &interfaces.Interface_Rdma{Rdma: l}
		return true
	}, nil
}

package descriptor

import (
	"errors"
	"fmt"
	"math/bits"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/rdma"
	"google.golang.org/protobuf/proto"

	linuxmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

var rdmaQueue = queue{"a power of 2 from 256 to 32768", func(n uint32) bool { return n >= 256 && n <= 32768 && n&(n-1) == 0 }}

// An RDMA interface lets VPP use a network card beside the kernel, whose
// interface of it the value waits for. VPP reports nothing of it but the name,
// which is that in the kernel: the mode and the queues are taken to be as
// wanted. Version 3 of the message has the mode in the byte order of the host.
var rdmaCards = linkSpec[rdma.RdmaCreateV4]{
	op: declareLinks("interface RDMA", "rdma", linkCalls[rdma.RdmaCreateV4]{
		set: asRequest[*rdma.RdmaCreateV4Reply, rdma.RdmaCreateV4],
	}, linkCalls[rdma.RdmaCreateV4]{
		set: func(_ bool, p rdma.RdmaCreateV4) (req, reply api.Message) {
			p.Mode = rdma.RdmaMode(bits.ReverseBytes32(uint32(p.Mode)))
			return (*rdma.RdmaCreateV3)(&p), &rdma.RdmaCreateV3Reply{}
		},
	}),
	device: "RDMA interface",
	facts:  traits{macInPlace: true, macAfter: true, initialMTU: deviceMTU, link: func() proto.Message { return &interfaces.RDMALink{} }},
	resolve: func(r *item.Resolver, i *interfaces.Interface) rdma.RdmaCreateV4 {
		l, host := i.GetRdma(), i.GetRdma().GetHostIfName()
		r.Enum("rdma.mode", l.GetMode())
		if len(host) > maxHostName {
			r.Fail("rdma.host_if_name", "%q has %d bytes, expected at most %d", host, len(host), maxHostName)
		}
		r.CreatedWith("rdma-host-interface-exists", linuxmodel.HostInterfaceKey.Key(host))
		return rdma.RdmaCreateV4{
			HostIf: host, Name: host, Mode: rdma.RdmaMode(l.GetMode()),
			RxqNum:  uint16(orDefault(l.GetRxqNum(), 1)),
			RxqSize: rdmaQueue.size(r, "rdma.rxq_size", l.GetRxqSize()), TxqSize: rdmaQueue.size(r, "rdma.txq_size", l.GetTxqSize()),
		}
	},
	describe: func(i *interfaces.Interface, _ rdma.RdmaCreateV4, known about) {
		l := &interfaces.RDMALink{}
		proto.Merge(l, known.wanted.GetRdma())
		l.HostIfName, l.RxqNum = known.name, orDefault(l.RxqNum, 1)
		l.RxqSize, l.TxqSize = orDefault(l.RxqSize, defaultQueue), orDefault(l.TxqSize, defaultQueue)
		i.Type, i.Link = interfaces.Interface_RDMA, &interfaces.Interface_Rdma{Rdma: l}
	},
	identity: func(i *interfaces.Interface) string {
		return identity("rdma", field{value: i.GetRdma().GetHostIfName()})
	},
	delete: deletion[*rdma.RdmaDelete, *rdma.RdmaDeleteReply],
	gone:   []api.VPPApiError{api.INVALID_INTERFACE},
	explain: func(i *interfaces.Interface, created ifIndex, err error) error {
		switch {
		case err == nil && created == 0: // VPP without RDMA devices: local0 was created
			return errors.New("the machine has no RDMA devices; is the kernel module ib_uverbs loaded?")
		case errors.Is(err, api.INVALID_INTERFACE):
			return fmt.Errorf("host interface %q is not one of a device that VPP can use by RDMA (mlx5): %w", i.GetRdma().GetHostIfName(), err)
		}
		return err
	},
}

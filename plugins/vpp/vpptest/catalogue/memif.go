package catalogue

import (
	"strings"

	"go.fd.io/govpp/api"
	memifapi "go.fd.io/govpp/binapi/memif"
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Memif is the master of a memif that is up.
func Memif(name string, id uint32, socket string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_MEMIF, Enabled: true,
		Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Id: id, SocketFilename: socket, Master: true}},
	}
}

func memif() Item {
	link := func(change func(l *interfaces.MemifLink)) Change {
		return iface(func(i *interfaces.Interface) { change(i.GetMemif()) })
	}
	slave := Memif("memif3", 8, "x.sock")
	slave.GetMemif().Master = false
	return ofInterface(Item{
		Make: func() proto.Message {
			i := Memif("memif1", 7, "tenuto-test.sock")
			i.PhysAddress, i.IpAddresses, i.GetMemif().Secret = "02:00:00:00:00:12", []string{"10.12.1.1/24"}, "open sesame"
			return i
		},
		Capability: "interface MEMIF",
		Spellings:  []Change{link(func(l *interfaces.MemifLink) { l.RingSize = 1024 })},
		Recreates: []Change{
			link(func(l *interfaces.MemifLink) { l.Id, l.SocketFilename = 8, "other.sock" }),
			link(func(l *interfaces.MemifLink) { l.RingSize = 512 }),
		},
		Refusals: map[string]Change{
			"memif.ring_size: 1000, expected a power of 2":  link(func(l *interfaces.MemifLink) { l.RingSize = 1000 }),
			"memif.ring_size: 32768":                        link(func(l *interfaces.MemifLink) { l.RingSize = 32768 }),
			"memif.buffer_size: 65536, expected 0 to 65535": link(func(l *interfaces.MemifLink) { l.BufferSize = 65536 }),
			"memif.rx_queues: 256":                          link(func(l *interfaces.MemifLink) { l.RxQueues = 256 }),
			"memif.tx_queues: 256":                          link(func(l *interfaces.MemifLink) { l.TxQueues = 256 }),
			"memif.secret: has 24 bytes":                    link(func(l *interfaces.MemifLink) { l.Secret = strings.Repeat("x", 24) }),
			"memif.socket_filename: has 108 bytes":          link(func(l *interfaces.MemifLink) { l.SocketFilename = strings.Repeat("x", 108) }),
			"memif.mode: PUNT_INJECT":                       link(func(l *interfaces.MemifLink) { l.Mode = interfaces.MemifLink_PUNT_INJECT }),
			"phys_address: a memif of mode IP":              link(func(l *interfaces.MemifLink) { l.Mode = interfaces.MemifLink_IP }),
			"link: missing, expected MemifLink":             iface(func(i *interfaces.Interface) { i.Link = nil }),
		},
		Conflicts: []Conflict{{
			First: Memif("memif2", 7, ""), Second: Memif("memif3", 7, ""),
			Says: `create MEMIF: memif.socket_filename, memif.id: "", 7: VPP has it already, as interface "memif2" (memif0/7): `,
		}, {
			First: Memif("memif2", 7, "x.sock"), Second: slave,
			Says: `create MEMIF: memif.master: false: the socket "x.sock" has memifs of the other role, such as interface "memif2" (memif`,
		}},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &memifapi.MemifDelete{SwIfIndex: of(index, m)}, &memifapi.MemifDeleteReply{}
		},
		Without: map[string]string{"Needs": "VPP makes the socket"},
	})
}

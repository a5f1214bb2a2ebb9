package vnet

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/interface_types"
	memif_api "go.fd.io/govpp/binapi/memif"
)

const (
	memifDevice = "memif"
	// runtimeDir is where sockets without a directory go.
	runtimeDir = "/run/vpp"
)

// memifs are the memifs and the sockets they meet at. No client connects to a
// simulated memif: its link stays down.
type memifs struct {
	*VNet
	kind[memif_api.MemifCreateV2]
	sockets map[uint32]*memifSocket
	seed    uint32 // of the IDs of sockets
}

type memifSocket struct {
	path   string
	master bool              // what its memifs are
	ids    map[uint32]uint32 // index of the memif by ID
}

func newMemifs(n *VNet) feature { return &memifs{VNet: n} }

func (ms *memifs) register(server *wire.Server) {
	handle[memif_api.MemifSocketFilenameAddDelReply](server, func(req *memif_api.MemifSocketFilenameAddDel) retval {
		return ms.setMemifSocket(req.IsAdd, req.SocketID, req.SocketFilename)
	})
	wire.Handle(server, func(_ *wire.Call, req *memif_api.MemifSocketFilenameAddDelV2) *memif_api.MemifSocketFilenameAddDelV2Reply {
		id := req.SocketID
		if id == none && req.IsAdd {
			id = ms.freeMemifSocket()
		}
		rv := ms.setMemifSocket(req.IsAdd, id, req.SocketFilename)
		return &memif_api.MemifSocketFilenameAddDelV2Reply{Retval: int32(rv), SocketID: id}
	})
	wire.HandleDump(server, func(c *wire.Call, _ *memif_api.MemifSocketFilenameDump) {
		for _, id := range slices.Sorted(maps.Keys(ms.sockets)) {
			c.Send(&memif_api.MemifSocketFilenameDetails{SocketID: id, SocketFilename: ms.sockets[id].path})
		}
	})
	handleCreate[memif_api.MemifCreateReply](server, func(req *memif_api.MemifCreate) (ifIndex, retval) {
		return ms.createMemif(&memif_api.MemifCreateV2{
			Role: req.Role, Mode: req.Mode, RxQueues: req.RxQueues, TxQueues: req.TxQueues, ID: req.ID, SocketID: req.SocketID,
			RingSize: req.RingSize, BufferSize: req.BufferSize, NoZeroCopy: req.NoZeroCopy, HwAddr: req.HwAddr, Secret: req.Secret,
		})
	})
	handleCreate[memif_api.MemifCreateV2Reply](server, ms.createMemif)
	handle[memif_api.MemifDeleteReply](server, ms.deleteMemif)
	wire.HandleDump(server, ms.memifDump)
}

func (ms *memifs) reset() {
	ms.kind, ms.seed = kind[memif_api.MemifCreateV2]{}, 0
	ms.sockets = map[uint32]*memifSocket{0: {path: runtimeDir + "/memif.sock", ids: map[uint32]uint32{}}}
}

// freeMemifSocket returns the next ID of VPP's random sequence that is free.
func (ms *memifs) freeMemifSocket() uint32 {
	for {
		ms.seed = ms.seed*1664525 + 1013904223
		if id := ms.seed; id != none && ms.sockets[id] == nil {
			return id
		}
	}
}

func (ms *memifs) setMemifSocket(add bool, id uint32, path string) retval {
	has := ms.sockets[id]
	if id == 0 || id == none {
		return api.INVALID_ARGUMENT
	}
	if !add {
		switch {
		case has == nil:
			return api.INVALID_ARGUMENT
		case len(has.ids) > 0:
			return api.UNEXPECTED_INTF_STATE
		}
		delete(ms.sockets, id)
		return ok
	}
	if path == "" {
		return api.INVALID_ARGUMENT
	}
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "abstract:") {
		path = runtimeDir + "/" + path
	}
	switch {
	case has == nil:
		ms.sockets[id] = &memifSocket{path: path, ids: map[uint32]uint32{}}
	case has.path != path:
		return api.ENTRY_ALREADY_EXISTS
	}
	return ok
}

// createMemif makes memif<socket>/<id>, link down.
func (ms *memifs) createMemif(req *memif_api.MemifCreateV2) (ifIndex, retval) {
	socket, master := ms.sockets[req.SocketID], req.Role == memif_api.MEMIF_ROLE_API_MASTER
	if bits.OnesCount32(req.RingSize) > 1 || socket == nil {
		return 0, api.INVALID_ARGUMENT
	}
	_, exists := socket.ids[req.ID]
	switch {
	case exists, len(socket.ids) > 0 && socket.master != master:
		return 0, api.SUBIF_ALREADY_EXISTS
	case req.Mode != memif_api.MEMIF_MODE_API_ETHERNET && req.Mode != memif_api.MEMIF_MODE_API_IP:
		return 0, api.SYSCALL_ERROR_2
	}
	hw := &hwInterface{name: fmt.Sprintf("memif%d/%d", req.SocketID, req.ID), device: memifDevice}
	if req.Mode == memif_api.MEMIF_MODE_API_ETHERNET {
		hw.ethernet, hw.anyFrame, hw.mac = true, true, req.HwAddr
		if hw.mac == (ethernet_types.MacAddress{}) {
			hw.mac = ms.randomMAC()
		}
	}
	i := ms.createHardware(hw)
	ms.keep(i, req)
	socket.master, socket.ids[req.ID] = master, hw.instance
	return ifIndex(i.index), ok
}

func (ms *memifs) deleteMemif(req *memif_api.MemifDelete) retval {
	i := ms.byIndex(req.SwIfIndex)
	if i == nil || i.hw.device != memifDevice {
		return api.INVALID_SW_IF_INDEX
	}
	config := ms.at(i.hw.instance).config
	delete(ms.sockets[config.SocketID].ids, config.ID)
	ms.remove(i.hw.instance)
	ms.deleteHardware(i.hw)
	return ok
}

func (ms *memifs) memifDump(c *wire.Call, _ *memif_api.MemifDump) {
	for index, config := range ms.of(noInterface) {
		i := ms.byIndex(index)
		d := &memif_api.MemifDetails{
			SwIfIndex: index, HwAddr: i.hw.mac, ID: config.ID,
			Role: config.Role, Mode: config.Mode, SocketID: config.SocketID,
			ZeroCopy: config.Role == memif_api.MEMIF_ROLE_API_SLAVE && !config.NoZeroCopy,
			RingSize: 1, IfName: i.name(), // rings and buffers are made by the connection
		}
		if i.adminUp {
			d.Flags |= interface_types.IF_STATUS_API_FLAG_ADMIN_UP
		}
		c.Send(d)
	}
}

func (ms *memifs) dump(b *strings.Builder) {
	for _, id := range slices.Sorted(maps.Keys(ms.sockets)) {
		if id != 0 {
			fmt.Fprintf(b, "memif socket %d %q of %d\n", id, ms.sockets[id].path, len(ms.sockets[id].ids))
		}
	}
}

package vppcalls

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/memif"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// MemifDevice is the device class of memifs.
const MemifDevice = "memif"

// Memif is a memif as VPP has it. RingSize and BufferSize are the sizes of the connection; 1
// and 0 without one. SocketID is 0 for the socket that every VPP has.
type Memif struct {
	memif.MemifDetails
	// Socket is the path of the socket as VPP uses it, always absolute.
	Socket string
}

// The IDs of sockets that are added follow from the path, in a range that starts at
// firstMemifSocket. By that an agent recognises later which sockets it added: VPP keeps
// sockets without memifs.
const (
	firstMemifSocket = 1 << 16
	memifSocketIDs   = 1 << 16
)

// memifSocketID is the ID that the socket with the path preferably gets. The directory does
// not count: VPP adds it where the configuration has none.
func memifSocketID(path string) uint32 {
	sum := sha256.Sum256([]byte(path[strings.LastIndexByte(path, '/')+1:]))
	return firstMemifSocket + binary.BigEndian.Uint32(sum[:])%memifSocketIDs
}

// ownMemifSocket reports whether the ID of a socket, as VPP has it, was chosen for the
// path of the configuration, or would be but for a few others that had it already.
func ownMemifSocket(id uint32, path string) bool {
	const others = 16
	return id-memifSocketID(path) < others
}

var createMemif = session.Declare("interface MEMIF", "memif",
	session.Variant(func(m memif.MemifCreateV2) (request, reply api.Message) {
		return &m, &memif.MemifCreateV2Reply{}
	}, (*memif.MemifCreateV2)(nil), (*memif.MemifCreateV2Reply)(nil)),
	session.Variant(func(m memif.MemifCreateV2) (request, reply api.Message) {
		v1 := session.SameFields[memif.MemifCreate](&m)
		return &v1, &memif.MemifCreateReply{}
	}, (*memif.MemifCreate)(nil), (*memif.MemifCreateReply)(nil)))

var addMemifSocket = session.Step("add memif socket",
	session.Variant(func(add memif.MemifSocketFilenameAddDelV2) (request, reply api.Message) {
		return &add, &memif.MemifSocketFilenameAddDelV2Reply{}
	}, (*memif.MemifSocketFilenameAddDelV2)(nil), (*memif.MemifSocketFilenameAddDelV2Reply)(nil)),
	session.Variant(func(add memif.MemifSocketFilenameAddDelV2) (request, reply api.Message) {
		v1 := session.SameFields[memif.MemifSocketFilenameAddDel](&add)
		return &v1, &memif.MemifSocketFilenameAddDelReply{}
	}, (*memif.MemifSocketFilenameAddDel)(nil), (*memif.MemifSocketFilenameAddDelReply)(nil)))

// CreateMemif creates a memif on the socket with the path, and the socket if VPP does not know
// it; an empty path means the socket that every VPP has. The error is
// api.SUBIF_ALREADY_EXISTS if the socket has a memif of the ID, or memifs of the other role.
func (c *Calls) CreateMemif(ctx context.Context, path string, m memif.MemifCreateV2) (swIfIndex uint32, err error) {
	create, err := createMemif.On(c.vpp)
	if err != nil {
		return NoInterface, err
	}
	if m.SocketID, err = c.memifSocket(ctx, path); err != nil {
		return NoInterface, fmt.Errorf("socket %q: %w", path, err)
	}
	req, reply := create(m)
	if err := c.vpp.Call(ctx, req, reply); err != nil {
		return NoInterface, errors.Join(err, c.dropMemifSocket(ctx, m.SocketID, path))
	}
	return uint32(session.InterfaceIndex(reply)), nil
}

// memifSocket returns the ID of the socket with the path.
func (c *Calls) memifSocket(ctx context.Context, path string) (uint32, error) {
	if path == "" {
		return 0, nil
	}
	sockets, err := c.dumpMemifSockets(ctx)
	if err != nil {
		return 0, err
	}
	for id, has := range sockets {
		if SameSocket(has, path) {
			return id, nil
		}
	}
	add, err := addMemifSocket.On(c.vpp)
	if err != nil {
		return 0, err
	}
	id := memifSocketID(path)
	for sockets[id] != "" {
		id++
	}
	req, reply := add(memif.MemifSocketFilenameAddDelV2{IsAdd: true, SocketID: id, SocketFilename: path})
	return id, c.vpp.Call(ctx, req, reply)
}

// SameSocket reports that a path is the socket that VPP uses under a path, which
// is absolute: VPP puts the others into its run-time directory.
func SameSocket(used, path string) bool {
	if used == path {
		return true
	}
	return path != "" && path[0] != '/' && strings.HasSuffix(used, "/"+path)
}

// DeleteMemif deletes a memif, and its socket if an agent added that and it has no other
// memif. path is the socket's path in the configuration; empty if it is not known. If the
// memif does not exist, that is a success.
func (c *Calls) DeleteMemif(ctx context.Context, swIfIndex uint32, path string) error {
	all, err := c.DumpMemifs(ctx)
	if err != nil {
		return err
	}
	err = c.vpp.Call(ctx, &memif.MemifDelete{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	}, &memif.MemifDeleteReply{})
	if err != nil && !session.Gone(err) {
		return err
	}
	if was, ok := all[swIfIndex]; ok {
		return c.dropMemifSocket(ctx, was.SocketID, cmp.Or(path, was.Socket))
	}
	return nil
}

// DropMemifSocket removes the socket with the path if an agent added it and it has no
// memif.
func (c *Calls) DropMemifSocket(ctx context.Context, path string) error {
	if path == "" {
		return nil
	}
	sockets, err := c.dumpMemifSockets(ctx)
	if err != nil {
		return err
	}
	for id, has := range sockets {
		if SameSocket(has, path) {
			return c.dropMemifSocket(ctx, id, path)
		}
	}
	return nil
}

func (c *Calls) dropMemifSocket(ctx context.Context, id uint32, path string) error {
	if path == "" || !ownMemifSocket(id, path) {
		return nil
	}
	err := c.vpp.Call(ctx, &memif.MemifSocketFilenameAddDel{SocketID: id}, &memif.MemifSocketFilenameAddDelReply{})
	switch {
	case err == nil, errors.Is(err, api.UNEXPECTED_INTF_STATE), errors.Is(err, api.INVALID_ARGUMENT):
		return nil // or another memif uses it, or it is gone
	}
	return kvs.Undecided(fmt.Errorf("remove socket %d: %w", id, err)) // a reading of the values removes what is left
}

// DumpMemifs returns all memifs by the index of the interface.
func (c *Calls) DumpMemifs(ctx context.Context) (map[uint32]Memif, error) {
	sockets, err := c.dumpMemifSockets(ctx)
	if err != nil {
		return nil, err
	}
	found, err := session.Dump[*memif.MemifDetails](ctx, c.vpp, &memif.MemifDump{})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]Memif, len(found))
	for _, d := range found {
		out[uint32(d.SwIfIndex)] = Memif{*d, sockets[d.SocketID]}
	}
	return out, nil
}

// dumpMemifSockets returns the paths of sockets by ID.
func (c *Calls) dumpMemifSockets(ctx context.Context) (map[uint32]string, error) {
	found, err := session.Dump[*memif.MemifSocketFilenameDetails](ctx, c.vpp, &memif.MemifSocketFilenameDump{})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]string, len(found))
	for _, d := range found {
		out[d.SocketID] = d.SocketFilename
	}
	return out, nil
}

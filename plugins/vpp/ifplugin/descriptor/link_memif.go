package descriptor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.fd.io/govpp/api"
	memifapi "go.fd.io/govpp/binapi/memif"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A memif is one side of a connection through shared memory. The two sides meet
// at a socket, where the master listens, and at an ID on it; a socket has
// memifs of one role only. The link comes up with the other side. VPP reports
// neither the secret nor the numbers of queues, and the sizes of rings and
// buffers only while connected; then a master has the sizes that the slave
// requested. Unreported fields are assumed to be as desired.

const (
	defaultMemifRing   = 1024
	maxMemifRing       = 1 << 14
	defaultMemifBuffer = 2048
	maxMemifSecret     = 23  // bytes, of 24 that end with a zero
	maxMemifSocket     = 107 // bytes, of 108 that end with a zero
)

type memif struct {
	kindDefaults
	vpp *vppcalls.Calls
}

func (memif) traits() traits {
	return traits{
		macInPlace: true, link: func() proto.Message { return &interfaces.MemifLink{} },
		initialMTU: func(i *interfaces.Interface) uint32 {
			if i.GetMemif().GetMode() == interfaces.MemifLink_IP {
				return 0
			}
			return etherMTU
		},
	}
}

func (memif) check(i *interfaces.Interface) error {
	l := i.GetMemif()
	var errs []error
	if m := l.GetMode(); m != interfaces.MemifLink_ETHERNET && m != interfaces.MemifLink_IP {
		errs = append(errs, invalid("memif.mode", "%s, expected ETHERNET or IP: VPP has no other", m))
	}
	if n := l.GetSocketFilename(); len(n) > maxMemifSocket {
		errs = append(errs, invalid("memif.socket_filename", "has %d bytes, expected at most %d", len(n), maxMemifSocket))
	}
	if n := len(l.GetSecret()); n > maxMemifSecret {
		errs = append(errs, invalid("memif.secret", "has %d bytes, expected at most %d", n, maxMemifSecret))
	}
	if n := l.GetRingSize(); n > maxMemifRing || n&(n-1) != 0 {
		errs = append(errs, invalid("memif.ring_size", "%d, expected a power of 2 up to %d, or 0 for %d",
			n, maxMemifRing, defaultMemifRing))
	}
	return errors.Join(errs...)
}

func (memif) identities(i *interfaces.Interface) []string {
	return []string{identity("memif", field{value: i.GetMemif().GetSocketFilename()}, field{value: i.GetMemif().GetId()})}
}

func (memif) sameLink(a, b *interfaces.Interface) bool {
	return proto.Equal(fullMemif(a), fullMemif(b))
}

// fullMemif returns the link with the defaults filled in.
func fullMemif(i *interfaces.Interface) *interfaces.MemifLink {
	l := &interfaces.MemifLink{}
	if have := i.GetMemif(); have != nil {
		l = proto.CloneOf(have)
	}
	l.RingSize = orDefault(l.RingSize, defaultMemifRing)
	l.BufferSize = orDefault(l.BufferSize, defaultMemifBuffer)
	l.RxQueues = orDefault(l.RxQueues, 1)
	l.TxQueues = orDefault(l.TxQueues, 1)
	return l
}

func (k memif) create(ctx context.Context, i *interfaces.Interface, mac *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	l := fullMemif(i)
	req := memifapi.MemifCreateV2{
		ID: l.Id, Role: roleOf(l), Mode: memifapi.MemifMode(l.Mode), Secret: l.Secret, // the modes have the same numbers
		RingSize: l.RingSize, BufferSize: uint16(l.BufferSize), RxQueues: uint8(l.RxQueues), TxQueues: uint8(l.TxQueues),
	}
	if mac != nil {
		req.HwAddr = *mac
	}
	idx, err := k.vpp.CreateMemif(ctx, l.SocketFilename, req)
	if errors.Is(err, api.SUBIF_ALREADY_EXISTS) {
		idx, err = k.adopt(ctx, l, err)
	}
	return &ifaceidx.IfMeta{SwIfIndex: idx}, err
}

// roleOf is the side of the connection: the master listens on the socket, the other one connects.
func roleOf(l *interfaces.MemifLink) memifapi.MemifRole {
	if l.Master {
		return memifapi.MEMIF_ROLE_API_MASTER
	}
	return memifapi.MEMIF_ROLE_API_SLAVE
}

// adopt takes over a memif without tag. VPP refuses a memif whose ID its socket has,
// and one of another role than its socket's.
func (k memif) adopt(ctx context.Context, l *interfaces.MemifLink, cause error) (uint32, error) {
	all, err := k.vpp.DumpMemifs(ctx)
	if err != nil {
		return vppcalls.NoInterface, errors.Join(cause, err)
	}
	for _, idx := range slices.Sorted(maps.Keys(all)) {
		m := all[idx]
		switch onSocket := vppcalls.SameSocket(m.Socket, l.SocketFilename) || m.SocketID == 0 && l.SocketFilename == ""; {
		case !onSocket:
		case m.Role != roleOf(l):
			owner, _, err := ownerOf(ctx, k.vpp, idx)
			cause = fmt.Errorf("the socket %q has memifs of the other role, such as %s: %w", l.SocketFilename, owner, errors.Join(cause, err))
			return vppcalls.NoInterface, conflict(cause, field{"memif.master", l.Master})
		case m.ID == l.Id:
			idx, err := adoptUntagged(ctx, k.vpp, idx, m.Mode == memifapi.MemifMode(l.Mode), cause)
			return idx, conflict(err, field{"memif.socket_filename", l.SocketFilename}, field{"memif.id", l.Id})
		}
	}
	return vppcalls.NoInterface, cause
}

// created ignores what VPP does not report, and what the other side has a say in.
func (memif) created(_ vppcalls.Details, i, want *interfaces.Interface) bool {
	a, b := i.GetMemif(), want.GetMemif()
	return a.GetSocketFilename() == b.GetSocketFilename() && a.GetId() == b.GetId() && a.GetMaster() == b.GetMaster() && a.GetMode() == b.GetMode()
}

// removeRest removes a socket that a creation or removal left without a memif.
func (k memif) removeRest(ctx context.Context, want *interfaces.Interface) error {
	return k.vpp.DropMemifSocket(ctx, want.GetMemif().GetSocketFilename())
}

func (k memif) remove(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.vpp.DeleteMemif(ctx, m.SwIfIndex, i.GetMemif().GetSocketFilename())
}

func (memif) claims(d vppcalls.Details) bool {
	return !d.SubInterface && d.DevType == vppcalls.MemifDevice
}

func (k memif) read(ctx context.Context, _ func(uint32) string) (recogniser, error) {
	all, err := k.vpp.DumpMemifs(ctx)
	return func(d vppcalls.Details, wanted, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		found, ok := all[d.SwIfIndex]
		if !ok {
			return false
		}
		w := fullMemif(wanted)
		l := &interfaces.MemifLink{
			Master: found.Role == memifapi.MEMIF_ROLE_API_MASTER, Id: found.ID, Secret: w.Secret, Mode: interfaces.MemifLink_MemifMode(found.Mode),
			RingSize: w.RingSize, BufferSize: w.BufferSize, RxQueues: w.RxQueues, TxQueues: w.TxQueues,
		}
		switch {
		case vppcalls.SameSocket(found.Socket, w.SocketFilename):
			l.SocketFilename = w.SocketFilename
		case found.SocketID != 0:
			l.SocketFilename = found.Socket
		}
		if connected := found.BufferSize != 0; connected && !l.Master {
			l.RingSize, l.BufferSize = found.RingSize, uint32(found.BufferSize)
		}
		i.Type, i.Link = interfaces.Interface_MEMIF, &interfaces.Interface_Memif{Memif: l}
		if found.ZeroCopy == l.Master { // VPP sets it for slaves, unless it is asked not to
			kvs.AddUnmodeled(i, fmt.Sprintf("zero_copy %t", found.ZeroCopy))
		}
		return true
	}, err
}

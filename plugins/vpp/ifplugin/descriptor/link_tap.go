package descriptor

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A TAP is a pair of a VPP interface and a Linux interface. VPP makes both; the
// Linux side appears in the namespace of VPP, under a name of up to 15 bytes.
// The tag is set by the same message, so a TAP without tag is never ours.

const (
	// defaultRingSize is the number of descriptors of a ring.
	defaultRingSize = 256
	// maxRingSize is the largest ring that virtio has.
	maxRingSize = 32768
	// maxHostName is the longest name of a Linux interface, in bytes.
	maxHostName = 15
)

// microserviceKeyPrefix is followed by the label of a container; such keys
// come from the watcher of containers.
const microserviceKeyPrefix = "linux/microservice/"

type tap struct {
	kindDefaults
	vpp *vppcalls.Calls
}

func (tap) traits() traits {
	return traits{
		tagged: true, macInPlace: true, linkOptional: true,
		link: func() proto.Message { return &interfaces.TapLink{} },
	}
}

func (tap) check(i *interfaces.Interface) error {
	l := i.GetTap()
	var errs []error
	if v := l.GetVersion(); v != 0 && v != 2 {
		errs = append(errs, invalid("tap.version", "%d, expected 2, or 0 for the default", v))
	}
	if n := l.GetHostIfName(); len(n) > maxHostName {
		errs = append(errs, invalid("tap.host_if_name", "%q has %d bytes, expected at most %d", n, len(n), maxHostName))
	}
	for _, ring := range []struct {
		field string
		size  uint32
	}{{"tap.rx_ring_size", l.GetRxRingSize()}, {"tap.tx_ring_size", l.GetTxRingSize()}} {
		if ring.size > maxRingSize || ring.size&(ring.size-1) != 0 {
			errs = append(errs, invalid(ring.field, "%d, expected a power of 2 up to %d, or 0 for %d",
				ring.size, maxRingSize, defaultRingSize))
		}
	}
	return errors.Join(errs...)
}

func (tap) dependencies(i *interfaces.Interface) []kvs.Dependency {
	label := i.GetTap().GetToMicroservice()
	if label == "" {
		return nil
	}
	return []kvs.Dependency{{Label: "microservice-available", Key: microserviceKeyPrefix + label}}
}

func (tap) sameLink(a, b *interfaces.Interface) bool {
	return proto.Equal(fullTap(a), fullTap(b))
}

// fullTap returns the link with the defaults filled in.
func fullTap(i *interfaces.Interface) *interfaces.TapLink {
	l := &interfaces.TapLink{}
	if have := i.GetTap(); have != nil {
		l = proto.CloneOf(have)
	}
	l.Version = 2
	l.HostIfName = TapHostIfName(i)
	if l.RxRingSize == 0 {
		l.RxRingSize = defaultRingSize
	}
	if l.TxRingSize == 0 {
		l.TxRingSize = defaultRingSize
	}
	return l
}

// TapHostIfName returns the name of the Linux side: the wanted one, or one made
// from the name of the interface.
func TapHostIfName(i *interfaces.Interface) string {
	if n := i.GetTap().GetHostIfName(); n != "" {
		return n
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(i.GetName())) // never fails
	return fmt.Sprintf("tap-%d", h.Sum32())
}

func (k tap) create(ctx context.Context, i *interfaces.Interface, mac *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	l := fullTap(i)
	idx, err := k.vpp.CreateTap(ctx, vppcalls.TapParams{
		HostIfName: l.HostIfName, Tag: i.GetName(), MAC: mac,
		RxRingSize: uint16(l.RxRingSize), TxRingSize: uint16(l.TxRingSize),
		GSO: l.EnableGso, Tunnel: l.EnableTunnel,
	})
	return &ifaceidx.IfMeta{SwIfIndex: idx, TAPHostIfName: l.HostIfName}, err
}

func (k tap) remove(ctx context.Context, _ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.vpp.DeleteTap(ctx, m.SwIfIndex)
}

func (tap) claims(d vppcalls.Details) bool { return !d.SubInterface && vppcalls.IsTapName(d.Name) }

func (k tap) read(ctx context.Context, _ func(uint32) string) (recogniser, error) {
	taps, err := k.vpp.DumpTaps(ctx)
	return func(d vppcalls.Details, wanted, i *interfaces.Interface, m *ifaceidx.IfMeta) bool {
		found, ok := taps[d.SwIfIndex]
		if !ok {
			return false
		}
		i.Type = interfaces.Interface_TAP
		m.TAPHostIfName = found.HostIfName
		l := &interfaces.TapLink{
			Version: 2, HostIfName: found.HostIfName,
			RxRingSize: found.RxRingSize, TxRingSize: found.TxRingSize,
			EnableGso: found.GSO, EnableTunnel: found.Tunnel,
		}
		// VPP does not know about containers; the Linux side is moved by others.
		l.ToMicroservice = wanted.GetTap().GetToMicroservice()
		i.Link = &interfaces.Interface_Tap{Tap: l}
		return true
	}, err
}

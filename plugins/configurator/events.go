package configurator

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/linux"
	linuxif "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// keptEvents is how many notifications are kept for clients that come later or
// are slow.
const keptEvents = 10_000

// events are the last notifications, numbered from 0. Of older notifications it
// keeps the latest of every interface: however slow a client is, it gets the
// latest state of every interface.
type events struct {
	limit int

	mu     sync.Mutex
	ring   []*pb.Notification // event n is at n%limit
	next   uint64
	latest map[string]event // by interface: that one among those not kept
	more   chan struct{}    // closed when there is another one
}

type event struct {
	index uint64
	what  *pb.Notification
}

func newEvents(limit int) *events {
	return &events{limit: limit, latest: map[string]event{}, more: make(chan struct{})}
}

// interfaceOfVPP takes in the state of an interface.
func (e *events) interfaceOfVPP(n *interfaces.InterfaceNotification) {
	e.add(&pb.Notification{Notification: &pb.Notification_VppNotification{VppNotification: &vpp.Notification{Interface: n}}})
}

// interfaceOfLinux is the same for Linux.
func (e *events) interfaceOfLinux(n *linuxif.InterfaceNotification) {
	e.add(&pb.Notification{Notification: &pb.Notification_LinuxNotification{LinuxNotification: &linux.Notification{Interface: n}}})
}

func (e *events) add(n *pb.Notification) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.ring) < e.limit {
		e.ring = append(e.ring, n)
	} else {
		at := e.next % uint64(e.limit)
		e.retire(event{e.next - uint64(e.limit), e.ring[at]})
		e.ring[at] = n
	}
	e.next++
	close(e.more)
	e.more = make(chan struct{})
}

// retire remembers an event that is no longer kept, if it is the latest of
// its interface. What is gone is remembered too, for those who know of it, as
// long as there is room.
func (e *events) retire(ev event) {
	e.latest[subject(ev.what)] = ev
	if len(e.latest) <= e.limit {
		return
	}
	oldest, found := "", false
	for name, it := range e.latest {
		if deleted(it.what) && (!found || it.index < e.latest[oldest].index) {
			oldest, found = name, true
		}
	}
	if found {
		delete(e.latest, oldest)
	}
}

// subject is the interface that a notification is about.
func subject(n *pb.Notification) string {
	if l := n.GetLinuxNotification(); l != nil {
		return "linux/" + l.GetInterface().GetState().GetName()
	}
	return "vpp/" + n.GetVppNotification().GetInterface().GetState().GetName()
}

func deleted(n *pb.Notification) bool {
	return n.GetVppNotification().GetInterface().GetState().GetOperStatus() == interfaces.InterfaceState_DELETED ||
		n.GetLinuxNotification().GetInterface().GetState().GetOperStatus() == linuxif.InterfaceState_DELETED
}

// since returns what there is from an index on, and a channel that is closed
// when there is more. An index that does not exist yet is one of an agent that
// ran before: everything is new then.
func (e *events) since(index uint64) ([]event, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if index > e.next {
		index = 0
	}
	var out []event
	oldest := e.next - uint64(len(e.ring))
	if index < oldest {
		for _, it := range slices.SortedFunc(maps.Values(e.latest), func(a, b event) int { return cmp.Compare(a.index, b.index) }) {
			if it.index >= index {
				out = append(out, it)
			}
		}
		index = oldest
	}
	for ; index < e.next && len(out) < batch; index++ {
		out = append(out, event{index, e.ring[index%uint64(e.limit)]})
	}
	return out, e.more
}

// batch bounds how many events a client gets before it is looked again what the
// latest ones are.
const batch = 256

// stream sends the notifications from an index on that match one of the
// filters, until the context ends.
func (e *events) stream(ctx context.Context, req *pb.NotifyRequest, send func(*pb.NotifyResponse) error) error {
	for index := uint64(req.GetIdx()); ; {
		list, more := e.since(index)
		for _, ev := range list {
			index = ev.index + 1
			if !matchesAny(req.GetFilters(), ev.what) {
				continue
			}
			if err := send(&pb.NotifyResponse{NextIdx: uint32(index), Notification: ev.what}); err != nil {
				return err
			}
		}
		if len(list) > 0 {
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

// matchesAny reports whether a notification matches one of the filters; without
// filters all do.
func matchesAny(filters []*pb.Notification, n *pb.Notification) bool {
	return len(filters) == 0 || slices.ContainsFunc(filters, func(f *pb.Notification) bool {
		return f == nil || matches(f.ProtoReflect(), n.ProtoReflect())
	})
}

// matches reports whether all that is set in a filter is the same in a message.
func matches(filter, m protoreflect.Message) bool {
	same := true
	filter.Range(func(fd protoreflect.FieldDescriptor, want protoreflect.Value) bool {
		switch have := m.Get(fd); {
		case fd.IsList() || fd.IsMap():
			same = have.Equal(want)
		case fd.Message() != nil:
			same = m.Has(fd) && matches(want.Message(), have.Message())
		default:
			same = have.Equal(want)
		}
		return same
	})
	return same
}

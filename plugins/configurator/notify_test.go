package configurator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/configurator"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	"github.com/tenuto-dev/tenuto/proto/ligato/linux"
	linuxif "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func newConverter(f *testing.F) func(*testing.T, *generic.UpdateItem) { return configurator.Convert(f) }

func state(name string, s interfaces.InterfaceState_Status) *interfaces.InterfaceNotification {
	return &interfaces.InterfaceNotification{
		Type: interfaces.InterfaceNotification_UPDOWN, State: &interfaces.InterfaceState{Name: name, OperStatus: s},
	}
}

func ofVPP(n *interfaces.InterfaceNotification) *pb.Notification {
	return &pb.Notification{Notification: &pb.Notification_VppNotification{VppNotification: &vpp.Notification{Interface: n}}}
}

const (
	up      = interfaces.InterfaceState_UP
	down    = interfaces.InterfaceState_DOWN
	deleted = interfaces.InterfaceState_DELETED
)

// notes reads notifications as "index name status".
func (w *world) notes(req *pb.NotifyRequest, n int) []string {
	w.t.Helper()
	stream, err := w.config.Notify(w.Context(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for range n {
		resp, err := stream.Recv()
		if err != nil {
			w.t.Fatal(err)
		}
		s := resp.Notification.GetVppNotification().GetInterface().GetState()
		list = append(list, fmt.Sprintf("%d %s %s", resp.NextIdx, s.Name, s.OperStatus))
	}
	return list
}

func TestNotify(t *testing.T) {
	t.Parallel()
	w := start(t)
	for i, name := range strings.Fields("a b a") {
		w.states.tell(state(name, []interfaces.InterfaceState_Status{up, up, down}[i]))
	}
	for _, test := range []struct {
		idx     uint32
		filters []*pb.Notification
		want    string
	}{
		{0, nil, "1 a UP,2 b UP,3 a DOWN"},
		{2, nil, "3 a DOWN"},
		{99, nil, "1 a UP,2 b UP,3 a DOWN"}, // of an agent that ran before
		{0, []*pb.Notification{ofVPP(&interfaces.InterfaceNotification{State: &interfaces.InterfaceState{Name: "a"}})}, "1 a UP,3 a DOWN"},
		{0, []*pb.Notification{ofVPP(state("a", down)), ofVPP(state("b", 0))}, "2 b UP,3 a DOWN"}, // one or the other
		{0, []*pb.Notification{{}}, "1 a UP,2 b UP,3 a DOWN"},
		{0, []*pb.Notification{{Notification: &pb.Notification_LinuxNotification{LinuxNotification: &linux.Notification{}}}, ofVPP(state("b", up))}, "2 b UP"},
	} {
		n := strings.Count(test.want, ",") + 1
		if got := strings.Join(w.notes(&pb.NotifyRequest{Idx: test.idx, Filters: test.filters}, n), ","); got != test.want {
			t.Errorf("from %d, %v: got %s, want %s", test.idx, test.filters, got, test.want)
		}
	}
	// A waiting client gets the notification.
	stream, err := w.config.Notify(w.Context(), &pb.NotifyRequest{Idx: 3})
	if err != nil {
		t.Fatal(err)
	}
	w.states.tell(state("c", up))
	resp, err := stream.Recv()
	if err != nil || resp.NextIdx != 4 {
		t.Errorf("got %v, %v", resp, err)
	}
}

func ofLinux(name string, s linuxif.InterfaceState_Status) *pb.Notification {
	return &pb.Notification{Notification: &pb.Notification_LinuxNotification{LinuxNotification: &linux.Notification{
		Interface: &linuxif.InterfaceNotification{State: &linuxif.InterfaceState{Name: name, OperStatus: s}},
	}}}
}

// Linux interfaces have notifications as well, and are distinct from VPP interfaces of the same name.
func TestNotifyLinux(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.states.tell(state("a", up))
	w.linux.tell(ofLinux("a", linuxif.InterfaceState_DOWN).GetLinuxNotification().Interface)
	w.linux.tell(ofLinux("b", linuxif.InterfaceState_UP).GetLinuxNotification().Interface)
	for _, test := range []struct {
		filter *pb.Notification
		want   string
	}{
		{&pb.Notification{}, "vpp a UP,linux a DOWN,linux b UP"},
		{ofLinux("", linuxif.InterfaceState_UNKNOWN_STATUS), "linux a DOWN,linux b UP"},
		{ofLinux("", linuxif.InterfaceState_UP), "linux b UP"},
		{ofVPP(state("a", 0)), "vpp a UP"},
	} {
		stream, err := w.config.Notify(w.Context(), &pb.NotifyRequest{Filters: []*pb.Notification{test.filter}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range strings.Split(test.want, ",") {
			resp, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if s := resp.Notification.GetLinuxNotification().GetInterface().GetState(); s != nil {
				got = append(got, fmt.Sprint("linux ", s.Name, " ", s.OperStatus))
			} else {
				s := resp.Notification.GetVppNotification().GetInterface().GetState()
				got = append(got, fmt.Sprint("vpp ", s.Name, " ", s.OperStatus))
			}
		}
		if text := strings.Join(got, ","); text != test.want {
			t.Errorf("%v: got %s, want %s", test.filter, text, test.want)
		}
	}

	add, since := configurator.NewEvents(2)
	add(ofVPP(state("a", up)))
	add(ofLinux("a", linuxif.InterfaceState_DOWN))
	add(ofLinux("a", linuxif.InterfaceState_DELETED))
	add(ofLinux("c", linuxif.InterfaceState_UP))
	add(ofLinux("d", linuxif.InterfaceState_UP))
	if _, list := since(0); len(list) != 4 || list[0].GetVppNotification() == nil {
		t.Errorf("the latest of each are %v", list)
	}
}

// A reader that is slower than what is kept gets the latest state of every
// interface, and never an older one after it.
func TestSlowReadersGetTheLatestStates(t *testing.T) {
	t.Parallel()
	add, since := configurator.NewEvents(4)
	want := map[string]interfaces.InterfaceState_Status{}
	tell := func(name string, s interfaces.InterfaceState_Status) {
		add(ofVPP(state(name, s)))
		want[name] = s
	}
	tell("early", up)
	tell("gone", up)
	tell("gone", deleted)
	for i := range 20 {
		tell([]string{"x", "y"}[i%2], []interfaces.InterfaceState_Status{up, down}[i/2%2])
	}
	for from := range uint64(24) {
		got := map[string]interfaces.InterfaceState_Status{}
		index := from
		for {
			indexes, list := since(index)
			if len(list) == 0 {
				break
			}
			for i, n := range list {
				if indexes[i] < index {
					t.Fatalf("from %d: index %d came after %d", from, indexes[i], index)
				}
				index = indexes[i] + 1
				s := n.GetVppNotification().GetInterface().GetState()
				got[s.Name] = s.OperStatus
			}
		}
		for name, s := range got {
			if s != want[name] {
				t.Errorf("from %d: %s is %v, want %v", from, name, s, want[name])
			}
		}
		if from == 0 && len(got) != len(want) {
			t.Errorf("from the beginning: got %v, want %v", got, want)
		}
	}
	// What is gone is forgotten when there are many, what exists never is.
	for i := range 100 {
		tell(fmt.Sprint("temporary", i), deleted)
	}
	_, list := since(0)
	text := fmt.Sprint(list)
	if !strings.Contains(text, `"early"`) || len(list) > 12 {
		t.Errorf("kept: %s", text)
	}
}

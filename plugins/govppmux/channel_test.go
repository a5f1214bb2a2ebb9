package govppmux

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/vpe"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
)

// The calls are the same as in programs for the predecessor.
func TestChannel(t *testing.T) {
	t.Parallel()
	path := socket(t)
	p := start(t, path, nil)
	ch, err := p.NewAPIChannelBuffered(10, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer ch.Close()
	if err := ch.CheckCompatiblity(&vpe.ShowVersion{}); !errors.Is(err, binapi.ErrDisconnected) {
		t.Errorf("without VPP: got %v", err)
	}
	vpp := simulator(t, path)

	// The first request waits for VPP.
	version := &vpe.ShowVersionReply{}
	if err := ch.SendRequest(&vpe.ShowVersion{}).ReceiveReply(version); err != nil || version.Version != vppsim.DefaultVersion {
		t.Fatalf("got %v, %v", version, err)
	}
	// Several in flight, received in another order.
	var sent []api.RequestCtx
	for range 3 {
		sent = append(sent, ch.SendRequest(&interfaces.CreateLoopback{}))
	}
	for _, i := range []int{2, 0, 1} {
		reply := &interfaces.CreateLoopbackReply{}
		if err := sent[i].ReceiveReply(reply); err != nil || int(reply.SwIfIndex) != i+1 {
			t.Errorf("loopback %d: got %v, %v", i+1, reply, err)
		}
	}
	if err := sent[0].ReceiveReply(&interfaces.CreateLoopbackReply{}); !errors.Is(err, binapi.ErrClosed) {
		t.Errorf("a second reply: got %v", err)
	}
	var names []string
	records := ch.SendMultiRequest(&interfaces.SwInterfaceDump{})
	for {
		msg := &interfaces.SwInterfaceDetails{}
		last, err := records.ReceiveReply(msg)
		if err != nil {
			t.Fatal(err)
		}
		if last {
			break
		}
		names = append(names, msg.InterfaceName)
	}
	if got := strings.Join(names, " "); got != "local0 loop0 loop1 loop2" {
		t.Errorf("got interfaces %s", got)
	}
	if last, err := records.ReceiveReply(&interfaces.SwInterfaceDetails{}); !last || err != nil {
		t.Errorf("after the end: got %v, %v", last, err)
	}

	err = ch.SendRequest(&interfaces.SwInterfaceSetFlags{SwIfIndex: 77}).ReceiveReply(&interfaces.SwInterfaceSetFlagsReply{})
	if !errors.Is(err, api.INVALID_SW_IF_INDEX) {
		t.Errorf("refused: got %v", err)
	}
	err = ch.SendRequest(&vpe.ShowVersion{}).ReceiveReply(&interfaces.CreateLoopbackReply{})
	if want := "show_version: VPP answered *vpe.ShowVersionReply, expected *"; !strings.HasPrefix(fmt.Sprint(err), want) {
		t.Errorf("another type: got %v, expected %s", err, want)
	}
	var missing *api.CompatibilityError
	err = ch.CheckCompatiblity(&vpe.ShowVersion{}, &unknown{})
	if !errors.As(err, &missing) || strings.Join(missing.IncompatibleMessages, " ") != "no_such_message_12345678" {
		t.Errorf("an unknown message: got %v", err)
	}
	if err := ch.CheckCompatiblity(&vpe.ShowVersion{}, &interfaces.CreateLoopback{}); err != nil {
		t.Errorf("known messages: got %v", err)
	}
	events(t, ch, vpp)
	ch.Close()
	if err := ch.SendRequest(&vpe.ShowVersion{}).ReceiveReply(version); err == nil {
		t.Error("no error after Close")
	}
}

// events subscribes to the flags of interfaces.
func events(t *testing.T, ch api.Channel, vpp *vppsim.VPP) {
	t.Helper()
	received := make(chan api.Message, 1)
	sub, err := ch.SubscribeNotification(received, &interfaces.SwInterfaceEvent{})
	if err != nil {
		t.Fatal(err)
	}
	want := &interfaces.WantInterfaceEvents{EnableDisable: 1, PID: vpp.PID()}
	if err := ch.SendRequest(want).ReceiveReply(&interfaces.WantInterfaceEventsReply{}); err != nil {
		t.Fatal(err)
	}
	up := &interfaces.SwInterfaceSetFlags{SwIfIndex: 1, Flags: 1}
	if err := ch.SendRequest(up).ReceiveReply(&interfaces.SwInterfaceSetFlagsReply{}); err != nil {
		t.Fatal(err)
	}
	select {
	case event := <-received:
		if e, ok := event.(*interfaces.SwInterfaceEvent); !ok || e.SwIfIndex != 1 {
			t.Errorf("got event %v", event)
		}
	case <-patient(t).Done():
		t.Fatal("no event")
	}
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	if len(received) != 0 {
		t.Errorf("got event %v after the end", <-received)
	}
}

// unknown is a message that no VPP has.
type unknown struct{ vpe.ShowVersion }

func (*unknown) GetMessageName() string { return "no_such_message" }
func (*unknown) GetCrcString() string   { return "12345678" }

func TestChannelTimeout(t *testing.T) {
	t.Parallel()
	p := start(t, socket(t), nil)
	ch, err := p.NewAPIChannel()
	if err != nil {
		t.Fatal(err)
	}
	ch.SetReplyTimeout(time.Millisecond)
	err = ch.SendRequest(&vpe.ShowVersion{}).ReceiveReply(&vpe.ShowVersionReply{})
	if !errors.Is(err, binapi.ErrDisconnected) || !strings.HasPrefix(err.Error(), "show_version: ") || binapi.OutcomeUnknown(err) {
		t.Errorf("without VPP: got %v", err)
	}

	// VPP that does not answer.
	path := socket(t)
	silent := start(t, path, nil)
	vpp := simulator(t, path)
	session(t, silent, 0)
	begun, release := make(chan bool), make(chan bool)
	vppsim.Handle(vpp, func(_ *vppsim.Call, _ *interfaces.CreateLoopback) *interfaces.CreateLoopbackReply {
		close(begun)
		<-release
		return &interfaces.CreateLoopbackReply{SwIfIndex: 9}
	})
	defer close(release)
	slow, err := silent.NewAPIChannel()
	if err != nil {
		t.Fatal(err)
	}
	slow.SetReplyTimeout(20 * time.Millisecond)
	request := slow.SendRequest(&interfaces.CreateLoopback{})
	<-begun
	err = request.ReceiveReply(&interfaces.CreateLoopbackReply{})
	if !errors.Is(err, binapi.ErrReplyTimeout) || !binapi.OutcomeUnknown(err) {
		t.Errorf("VPP does not answer: got %v", err)
	}
	slow.SetReplyTimeout(0)
	slow.Close()
	err = slow.SendRequest(&vpe.ShowVersion{}).ReceiveReply(&vpe.ShowVersionReply{})
	if err == nil {
		t.Error("no error of a closed channel")
	}
}

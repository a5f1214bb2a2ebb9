package gnmi_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/observable"
	"github.com/tenuto-dev/tenuto/plugins/gnmi"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/orchtest"
	linuxif "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// linuxInterfaces are the interfaces of a Linux.
type linuxInterfaces struct {
	observable.Values[*linuxif.InterfaceState]

	mu    sync.Mutex
	stats []*linuxif.InterfaceStats
}

func (l *linuxInterfaces) Watch(f func(*linuxif.InterfaceNotification)) (cancel func()) {
	return l.Values.Watch(func(s *linuxif.InterfaceState) { f(&linuxif.InterfaceNotification{State: s}) })
}

func (l *linuxInterfaces) put(s *linuxif.InterfaceState) {
	l.Put(s.Name, func(*linuxif.InterfaceState, bool) (*linuxif.InterfaceState, bool) { return s, true })
}

// count replaces the counters; without any they cannot be read.
func (l *linuxInterfaces) count(list ...*linuxif.InterfaceStats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats = list
}

func (l *linuxInterfaces) InterfaceStats(context.Context) ([]*linuxif.InterfaceStats, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stats == nil {
		return nil, errors.New("no permission")
	}
	return l.stats, nil
}

func linuxState(name string, up linuxif.InterfaceState_Status) *linuxif.InterfaceState {
	return &linuxif.InterfaceState{
		Name: name, OperStatus: up, Speed: 10_000_000_000, PhysAddress: "02:00:00:00:00:01",
		Statistics: &linuxif.InterfaceState_Statistics{InPackets: 1},
	}
}

func linuxCounted(name string, received uint64) *linuxif.InterfaceStats {
	return &linuxif.InterfaceStats{Name: name, Rx: &linuxif.InterfaceStats_CombinedCounter{Packets: received}}
}

// startBoth starts an agent with interfaces of VPP and of Linux.
func startBoth(t *testing.T, vpp *states, counters *stats, linux *linuxInterfaces) *world {
	t.Helper()
	w := &world{t: t, Agent: orchtest.New(t)}
	w.start(func(d *gnmi.Deps) {
		d.Cfg = config.Text("gnmi", "min-sample-interval: 10ms\nsample-interval: 20ms")
		d.Links, d.Stats, d.Linux = vpp, counters, linux
	})
	return w
}

const (
	linuxOper = "/operational/linux.interfaces.interface[name=x]"
	vppOper   = "/operational/vpp.interfaces[name=x]"
)

// An interface of Linux has a state, as one of VPP has, and counters only in their tree.
func TestOperationalLinux(t *testing.T) {
	t.Parallel()
	vpp, linux := &states{}, &linuxInterfaces{}
	vpp.Put("x", func(*interfaces.InterfaceNotification, bool) (*interfaces.InterfaceNotification, bool) {
		return &interfaces.InterfaceNotification{State: &interfaces.InterfaceState{Name: "x", OperStatus: interfaces.InterfaceState_DOWN}}, true
	})
	linux.put(linuxState("x", linuxif.InterfaceState_UP))
	w := startBoth(t, vpp, &stats{}, linux)
	for path, want := range map[string]string{
		"/operational/linux.interfaces.interface":           linuxOper + ` {"name":"x","operStatus":"UP","physAddress":"02:00:00:00:00:01","speed":"10000000000"}` + "\n",
		linuxOper + "/oper_status":                          linuxOper + `/operStatus "UP"` + "\n",
		"/operational/*/operStatus":                         linuxOper + `/operStatus "UP"` + "\n" + vppOper + `/operStatus "DOWN"` + "\n",
		"/operational/*/duplex":                             vppOper + `/duplex "UNKNOWN_DUPLEX"` + "\n", // Linux has none
		"/operational/linux.interfaces.interface[name=y]":   "not found",
		"/operational/linux.interfaces.interface/inPackets": "invalid",
	} {
		got, err := w.get(&gpb.GetRequest{Path: paths(path)})
		switch want {
		case "not found":
			checkStatus(t, path, err, codes.NotFound, "linux.interfaces.interface y")
		case "invalid":
			checkStatus(t, path, err, codes.InvalidArgument, `unknown field "inPackets" of InterfaceState`)
		default:
			if err != nil || got != want {
				t.Errorf("%s: %s, %v, want %s", path, got, err, want)
			}
		}
	}

	all := w.subscribe(&gpb.SubscriptionList{Prefix: vpp1, Subscription: subs(gpb.SubscriptionMode_ON_CHANGE, "/operational/*/operStatus")})
	all.expect(linuxOper+`/operStatus "UP"`+"\n"+vppOper+`/operStatus "DOWN"`, "sync")
	linux.put(linuxState("x", linuxif.InterfaceState_DOWN))
	all.expect(linuxOper + `/operStatus "DOWN"`)
	linux.put(linuxState("y", linuxif.InterfaceState_UP))
	all.expect(`/operational/linux.interfaces.interface[name=y]/operStatus "UP"`)
	linux.Remove("x", func(last *linuxif.InterfaceState) (*linuxif.InterfaceState, bool) { return last, true })
	all.expect("- " + linuxOper + "/operStatus")
}

// Counters of Linux are sampled. A path that names their model does not need VPP's
// counters.
func TestCountersOfLinux(t *testing.T) {
	t.Parallel()
	vpp, linux := &stats{}, &linuxInterfaces{}
	linux.count(linuxCounted("x", 1))
	vpp.set(counted("a", 5, 0))
	w := startBoth(t, &states{}, vpp, linux)
	const received, other = "/counters/linux.interfaces.interface[name=x]/rx/packets", "/counters/vpp.interfaces[name=a]/rx/packets"
	if got, err := w.get(&gpb.GetRequest{Path: paths("/counters/*/rx/packets")}); err != nil || got != received+` "1"`+"\n"+other+` "5"`+"\n" {
		t.Errorf("counters: %s, %v", got, err)
	}
	c := w.subscribe(&gpb.SubscriptionList{Prefix: vpp1, Subscription: []*gpb.Subscription{{
		Path: path("/counters/linux.interfaces.interface/rx/packets"), Mode: gpb.SubscriptionMode_SAMPLE, SampleInterval: uint64(20 * time.Millisecond), SuppressRedundant: true}}})
	c.expect(received+` "1"`, "sync")
	vpp.set() // can no longer be read
	linux.count(linuxCounted("x", 2), linuxCounted("y", 3))
	c.expect(received + ` "2"` + "\n" + `/counters/linux.interfaces.interface[name=y]/rx/packets "3"`)
	linux.count(linuxCounted("y", 3))
	c.expect("- " + received)
	_, err := w.get(&gpb.GetRequest{Path: paths("/counters")})
	checkStatus(t, "without VPP", err, codes.Unavailable, "no stats segment")

	linux.count()
	for err = nil; err == nil; {
		_, err = c.Recv()
	}
	checkStatus(t, "a stream of counters that cannot be read", err, codes.Unavailable, "no permission")
	_, err = w.get(&gpb.GetRequest{Path: paths("/counters/linux.interfaces.interface")})
	checkStatus(t, "counters that cannot be read", err, codes.Unavailable, "no permission")
	_, err = w.subscribe(&gpb.SubscriptionList{Subscription: subs(gpb.SubscriptionMode_ON_CHANGE, "/counters/linux.interfaces.interface")}).Recv()
	checkStatus(t, "on change", err, codes.InvalidArgument, "/counters has no ON_CHANGE")
}

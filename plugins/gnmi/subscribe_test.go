package gnmi_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// client is a client of Subscribe.
type client struct {
	gpb.GNMI_SubscribeClient
	w    *world
	stop func()
}

func (w *world) subscribe(list *gpb.SubscriptionList) *client {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	w.t.Cleanup(cancel)
	stream, err := w.Subscribe(ctx)
	if err == nil {
		err = stream.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return &client{stream, w, cancel}
}

func subs(mode gpb.SubscriptionMode, texts ...string) (list []*gpb.Subscription) {
	for _, text := range texts {
		list = append(list, &gpb.Subscription{Path: path(text), Mode: mode})
	}
	return list
}

// next receives a message as lines: updates, deletions, or sync.
func (c *client) next() string {
	c.w.t.Helper()
	resp, err := c.Recv()
	if err != nil {
		c.w.t.Fatal(err)
	}
	if resp.GetSyncResponse() {
		return "sync\n"
	}
	n := resp.GetUpdate()
	if n.GetTimestamp() == 0 || n.GetPrefix().GetTarget() != "vpp1" {
		c.w.t.Errorf("notification %v", n)
	}
	var b strings.Builder
	for _, p := range n.GetDelete() {
		b.WriteString("- " + c.w.text(p) + "\n")
	}
	for _, u := range n.GetUpdate() {
		b.WriteString(c.w.text(u.Path) + " " + val(u.Val) + "\n")
	}
	return b.String()
}

// until receives messages until one has a text.
func (c *client) until(text string) {
	c.w.t.Helper()
	for got := ""; !strings.Contains(got, text); {
		got = c.next()
	}
}

func (c *client) expect(want ...string) {
	c.w.t.Helper()
	for _, want := range want {
		if got := c.next(); got != want+"\n" {
			c.w.t.Errorf("received\n%swant\n%s", got, want)
		}
	}
}

var vpp1 = &gpb.Path{Target: "vpp1"}

// ONCE ends after what there is.
func TestSubscribeOnce(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.put("grpc", iface("a", 1), iface("b", 2))
	list := &gpb.SubscriptionList{Prefix: vpp1, Mode: gpb.SubscriptionList_ONCE, Subscription: subs(0, "/config/vpp.interfaces", "/state/*/state")}
	c := w.subscribe(list)
	c.expect(a+` {"name":"a","mtu":1}`+"\n"+b+` {"name":"b","mtu":2}`+"\n"+
		`/state/vpp.interfaces[name=a]/state "CONFIGURED"`+"\n"+`/state/vpp.interfaces[name=b]/state "CONFIGURED"`, "sync")
	if _, err := c.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after sync: %v", err)
	}
	list.UpdatesOnly = true
	w.subscribe(list).expect("sync")
}

// POLL sends what there is when the client polls, or with updates_only what has changed.
func TestSubscribePoll(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.put("grpc", iface("a", 1))
	list := &gpb.SubscriptionList{Prefix: vpp1, Mode: gpb.SubscriptionList_POLL, Subscription: subs(0, "/config/vpp.interfaces[name=*]/mtu")}
	all := w.subscribe(list)
	all.expect(a+"/mtu 1", "sync")
	list.UpdatesOnly = true
	changes := w.subscribe(list)
	changes.expect("sync")
	poll := func(c *client) {
		if err := c.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Poll{Poll: &gpb.Poll{}}}); err != nil {
			t.Fatal(err)
		}
	}
	poll(changes)
	changes.expect("sync")
	w.set(&gpb.SetRequest{Update: updates(b+"/mtu", "2")})
	poll(all)
	all.expect(a+"/mtu 1\n"+b+"/mtu 2", "sync")
	poll(changes)
	changes.expect(b+"/mtu 2", "sync")
	w.set(&gpb.SetRequest{Delete: paths(a)})
	poll(changes)
	changes.expect("- "+a+"/mtu", "sync")
	if err := changes.Send(&gpb.SubscribeRequest{}); err != nil {
		t.Fatal(err)
	}
	_, err := changes.Recv()
	checkStatus(t, "no poll", err, codes.InvalidArgument, "poll: expected it")
	if err := all.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := all.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last poll: %v", err)
	}
}

// ON_CHANGE sends what changes, and nothing twice.
func TestSubscribeOnChange(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.put("grpc", iface("a", 1))
	config := w.subscribe(&gpb.SubscriptionList{Prefix: vpp1, Subscription: subs(gpb.SubscriptionMode_ON_CHANGE, "/config/vpp.interfaces[name=*]/mtu")})
	config.expect(a+"/mtu 1", "sync")
	late := w.subscribe(&gpb.SubscriptionList{Prefix: vpp1, UpdatesOnly: true, Subscription: subs(0, "/config/vpp.interfaces")})
	late.expect("sync")
	states := w.subscribe(&gpb.SubscriptionList{Prefix: vpp1, Subscription: subs(0, "/state/*/state")})
	states.expect(`/state/vpp.interfaces[name=a]/state "CONFIGURED"`, "sync")

	w.set(&gpb.SetRequest{Update: updates(a+"/enabled", "true")})
	w.set(&gpb.SetRequest{Update: updates(a+"/mtu", "2")})
	config.expect(a + "/mtu 2")
	late.until(`{"name":"a","enabled":true,"mtu":2}`)
	route := "[vrfId=0][dstNetwork=10.0.0.0/8][nextHopAddr=][outgoingInterface=b]"
	w.set(&gpb.SetRequest{Update: updates("/config/vpp.route"+route, "{}")})
	states.until("/state/vpp.route" + route + `/state "PENDING"`)
	w.set(&gpb.SetRequest{Update: updates(b, "{}")})
	states.until("/state/vpp.route" + route + `/state "CONFIGURED"`)
	config.expect(b + "/mtu 0")
	w.set(&gpb.SetRequest{Delete: paths(a)})
	config.expect("- " + a + "/mtu")
	late.until("- " + a)
	states.until("- /state/vpp.interfaces[name=a]/state")

	// a reverted value is the same as before
	w.SB.Inject(kvstest.Fault{Op: kvspb.TxnOperation_UPDATE, Key: key("b"), Err: errors.New("no buffers"), Times: 1})
	if _, err := w.Set(w.Context(), &gpb.SetRequest{Update: updates(b+"/mtu", "5")}); err == nil {
		t.Fatal("no error")
	}
	w.set(&gpb.SetRequest{Update: updates(b+"/mtu", "6")})
	last := ""
	for last != b+"/mtu 6\n" {
		if got := config.next(); got == last {
			t.Errorf("twice: %s", got)
		} else {
			last = got
		}
	}
}

// SAMPLE sends counters at an interval; suppress_redundant leaves out what has not changed, and
// heartbeats send it nevertheless.
func TestSubscribeSample(t *testing.T) {
	t.Parallel()
	w := start(t, &stats{list: []*interfaces.InterfaceStats{{Name: "a", Drops: 3}}})
	w.put("grpc", iface("a", 1))
	const drops = "/counters/vpp.interfaces[name=a]/drops"
	sample := w.subscribe(&gpb.SubscriptionList{Prefix: vpp1, Subscription: []*gpb.Subscription{{Path: path(drops), Mode: gpb.SubscriptionMode_SAMPLE, SampleInterval: uint64(20 * time.Millisecond)}}})
	sample.expect(drops+` "3"`, "sync", drops+` "3"`, drops+` "3"`)
	sample.stop()
	defined := w.subscribe(&gpb.SubscriptionList{Prefix: vpp1, Subscription: subs(gpb.SubscriptionMode_TARGET_DEFINED, "/")})
	defined.until("sync")
	defined.expect(`/counters/vpp.interfaces[name=a] {"name":"a","drops":"3"}`)
	w.set(&gpb.SetRequest{Update: updates(a+"/mtu", "2")})
	defined.until(a + ` {"name":"a","mtu":2}`)
	quiet := w.subscribe(&gpb.SubscriptionList{Prefix: vpp1, Subscription: []*gpb.Subscription{
		{Path: path(a + "/mtu"), Mode: gpb.SubscriptionMode_SAMPLE, SuppressRedundant: true},
		{Path: path(a + "/enabled"), Mode: gpb.SubscriptionMode_SAMPLE, SuppressRedundant: true, HeartbeatInterval: uint64(20 * time.Millisecond)},
		{Path: path(a + "/vrf"), Mode: gpb.SubscriptionMode_ON_CHANGE, HeartbeatInterval: uint64(30 * time.Millisecond)},
	}})
	quiet.expect(a+"/mtu 2\n"+a+"/enabled false\n"+a+"/vrf 0", "sync")
	quiet.until(a + "/enabled false")
	quiet.until(a + "/vrf 0")
	w.set(&gpb.SetRequest{Update: updates(a+"/mtu", "3")})
	for got := quiet.next(); got != a+"/mtu 3\n"; got = quiet.next() {
		if strings.Contains(got, "/mtu") {
			t.Fatalf("redundant %s", got)
		}
	}
}

// counted are the counters of an interface.
func counted(name string, received, drops uint64) *interfaces.InterfaceStats {
	return &interfaces.InterfaceStats{Name: name, Drops: drops, Rx: &interfaces.InterfaceStats_CombinedCounter{Packets: received}}
}

// SAMPLE follows counters that change, of interfaces that come and go, until they cannot be read.
func TestSubscribeCounters(t *testing.T) {
	t.Parallel()
	source := &stats{}
	source.set(counted("a", 1, 0), counted("b", 5, 0))
	w := start(t, source)
	const received, other = "/counters/vpp.interfaces[name=a]/rx/packets", "/counters/vpp.interfaces[name=b]/rx/packets"
	sampled := func(text string, suppress bool) *client {
		return w.subscribe(&gpb.SubscriptionList{Prefix: vpp1, Subscription: []*gpb.Subscription{{
			Path: path(text), Mode: gpb.SubscriptionMode_SAMPLE, SampleInterval: uint64(20 * time.Millisecond), SuppressRedundant: suppress}}})
	}
	all := sampled("/counters/vpp.interfaces/rx/packets", false)
	all.expect(received+` "1"`+"\n"+other+` "5"`, "sync", received+` "1"`+"\n"+other+` "5"`)
	changed := sampled("/counters/vpp.interfaces", true)
	changed.expect(`/counters/vpp.interfaces[name=a] {"name":"a","rx":{"packets":"1"}}`+"\n"+`/counters/vpp.interfaces[name=b] {"name":"b","rx":{"packets":"5"}}`, "sync")

	source.set(counted("a", 1<<53+1, 2), counted("b", 5, 0)) // a number that JSON has no number for
	all.until(received + ` "9007199254740993"` + "\n" + other + ` "5"`)
	changed.expect(`/counters/vpp.interfaces[name=a] {"name":"a","rx":{"packets":"9007199254740993"},"drops":"2"}`)
	source.set(counted("a", 1<<53+1, 2), counted("c", 7, 0))
	all.until("- " + other)
	all.until(`/counters/vpp.interfaces[name=c]/rx/packets "7"`)
	changed.expect("- /counters/vpp.interfaces[name=b]\n" + `/counters/vpp.interfaces[name=c] {"name":"c","rx":{"packets":"7"}}`)

	source.set()
	for _, c := range []*client{all, changed} {
		var err error
		for err == nil {
			_, err = c.Recv()
		}
		checkStatus(t, "counters that cannot be read", err, codes.Unavailable, "no stats segment")
	}
	source.mu.Lock()
	defer source.mu.Unlock()
	for _, age := range source.ages {
		if age != 5*time.Millisecond { // half of min-sample-interval
			t.Errorf("counters that are %v old would be accepted", age)
		}
	}
}

// Wrong subscriptions are rejected.
func TestSubscribeErrors(t *testing.T) {
	t.Parallel()
	w := start(t, &stats{})
	for text, list := range map[string]*gpb.SubscriptionList{
		"subscribe.subscription[0].elem[0]":                    {Subscription: subs(0, "/x")},
		"/counters has no ON_CHANGE":                           {Subscription: subs(gpb.SubscriptionMode_ON_CHANGE, "/counters")},
		"subscribe.subscription[0].mode: 7":                    {Subscription: subs(7, "/config")},
		"subscribe.mode: 9":                                    {Mode: 9},
		"sample_interval: 1 ns: expected at least 10ms":        {Subscription: []*gpb.Subscription{{Mode: gpb.SubscriptionMode_SAMPLE, SampleInterval: 1}}},
		"heartbeat_interval: 2 ns: expected at least 10ms":     {Subscription: []*gpb.Subscription{{HeartbeatInterval: 2}}},
		"use_models[0].name: unknown model \"vpp.interface\";": {UseModels: []*gpb.ModelData{{Name: "vpp.interface"}}},
	} {
		_, err := w.subscribe(list).Recv()
		checkStatus(t, text, err, codes.InvalidArgument, text)
	}
	_, err := w.subscribe(&gpb.SubscriptionList{Prefix: &gpb.Path{Target: "x"}}).Recv()
	checkStatus(t, "target", err, codes.NotFound, "not this agent")
	_, err = w.subscribe(&gpb.SubscriptionList{Encoding: gpb.Encoding_BYTES}).Recv()
	checkStatus(t, "encoding", err, codes.Unimplemented, "JSON")
	_, err = w.subscribe(&gpb.SubscriptionList{Subscription: subs(gpb.SubscriptionMode_SAMPLE, "/counters")}).Recv()
	checkStatus(t, "counters", err, codes.Unavailable, "no stats segment")
	stream, err := w.Subscribe(w.Context())
	if err == nil {
		err = stream.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Poll{Poll: &gpb.Poll{}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	checkStatus(t, "poll first", err, codes.InvalidArgument, "subscribe: expected it in the first request")
}

// A client that does not receive, or disappears, delays nothing; it gets the latest values.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	slow := w.subscribe(&gpb.SubscriptionList{Prefix: vpp1, Subscription: subs(0, "/")})
	slow.until("sync")
	gone := w.subscribe(&gpb.SubscriptionList{Prefix: vpp1, Subscription: subs(0, "/")})
	gone.until("sync")
	gone.stop()
	long := strings.Repeat("x", 1<<16) // more than the windows of the connection hold
	for i := range 100 {
		w.set(&gpb.SetRequest{Update: updates(a, `{"mtu": `+strconv.Itoa(i+1)+`, "physAddress": "`+long+`"}`)})
	}
	received := 0
	for got := ""; !strings.Contains(got, `"mtu":100`); received++ {
		got = slow.next()
	}
	t.Logf("%d messages for 100 changes", received)
}

// The operational states of interfaces are read and followed.
func TestOperational(t *testing.T) {
	t.Parallel()
	links := &states{}
	put := func(name string, up interfaces.InterfaceState_Status) {
		links.Put(name, func(*interfaces.InterfaceNotification, bool) (*interfaces.InterfaceNotification, bool) {
			return &interfaces.InterfaceNotification{State: &interfaces.InterfaceState{Name: name, OperStatus: up}}, true
		})
	}
	put("a", interfaces.InterfaceState_DOWN)
	w := startWith(t, nil, links)
	const oper = "/operational/vpp.interfaces[name=a]/operStatus"
	if got, err := w.get(&gpb.GetRequest{Path: paths("/operational/*/operStatus", oper)}); err != nil || got != strings.Repeat(oper+" \"DOWN\"\n", 2) {
		t.Errorf("get: %s, %v", got, err)
	}
	c := w.subscribe(&gpb.SubscriptionList{Prefix: vpp1, Subscription: subs(gpb.SubscriptionMode_ON_CHANGE, oper)})
	c.expect(oper+` "DOWN"`, "sync")
	put("b", interfaces.InterfaceState_UP)
	put("a", interfaces.InterfaceState_UP)
	c.expect(oper + ` "UP"`)
	links.Remove("a", func(last *interfaces.InterfaceNotification) (*interfaces.InterfaceNotification, bool) {
		return last, true
	})
	c.expect("- " + oper)
	_, err := w.get(&gpb.GetRequest{Path: paths("/operational/vpp.route")})
	checkStatus(t, "of a route", err, codes.InvalidArgument, `/operational has no model "vpp.route"`)
}

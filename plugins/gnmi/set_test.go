package gnmi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	ext "github.com/openconfig/gnmi/proto/gnmi_ext"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func jsonVal(text string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: []byte(text)}}
}

func anyVal(t *testing.T, m proto.Message) *gpb.TypedValue {
	t.Helper()
	packed, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_AnyVal{AnyVal: packed}}
}

// updates returns updates with pairs of a path and JSON.
func updates(pairs ...string) (list []*gpb.Update) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, &gpb.Update{Path: path(pairs[i]), Val: jsonVal(pairs[i+1])})
	}
	return list
}

func (w *world) set(req *gpb.SetRequest) {
	w.t.Helper()
	resp, err := w.Set(w.Context(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	if n := len(req.Delete) + len(req.Replace) + len(req.Update) + len(req.UnionReplace); len(resp.Response) != n || resp.Timestamp == 0 {
		w.t.Errorf("response %v, want %d results", resp, n)
	}
}

// has compares what the southbound has for interfaces.
func (w *world) has(what string, want ...*interfaces.Interface) {
	w.t.Helper()
	n := 0
	for _, name := range strings.Split("a b c d m", " ") {
		if w.SB.Get(key(name)) != nil {
			n++
		}
	}
	for _, i := range want {
		if got := w.SB.Get(key(i.Name)); got == nil || !proto.Equal(got, i) {
			w.t.Errorf("%s: %s is %v, want %v", what, i.Name, got, i)
		}
	}
	if n != len(want) {
		w.t.Errorf("%s: %d interfaces, want %d", what, n, len(want))
	}
}

const a, b = "/config/vpp.interfaces[name=a]", "/config/vpp.interfaces[name=b]"

// Items and fields are replaced, updated and deleted.
func TestSet(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.set(&gpb.SetRequest{Update: updates(a, `{"mtu": 1500, "ip_addresses": ["10.0.0.1/24"]}`, "/config/vpp.interfaces", `[{"name": "b"}, {"name": "c"}]`)})
	w.has("update", &interfaces.Interface{Name: "a", Mtu: 1500, IpAddresses: []string{"10.0.0.1/24"}}, iface("b", 0), iface("c", 0))
	w.set(&gpb.SetRequest{Update: updates(a, `{"enabled": true, "ipAddresses": ["10.0.0.2/24"]}`, b+"/mtu", "9000", b+"/memif/id", "7")})
	memif := &interfaces.Interface{Name: "b", Mtu: 9000, Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Id: 7}}}
	w.has("merge", &interfaces.Interface{Name: "a", Mtu: 1500, Enabled: true, IpAddresses: []string{"10.0.0.2/24"}}, memif, iface("c", 0))
	w.set(&gpb.SetRequest{Update: updates(a+"/enabled", "false", a+"/mtu", "0")})
	w.has("zero values", &interfaces.Interface{Name: "a", IpAddresses: []string{"10.0.0.2/24"}}, memif, iface("c", 0))
	w.set(&gpb.SetRequest{
		Prefix:  &gpb.Path{Target: "vpp1", Elem: path("/config").Elem},
		Delete:  paths("/vpp.interfaces[name=c]", "/vpp.interfaces[name=a]/ipAddresses", "/vpp.interfaces[name=none]", "/vpp.interfaces[name=none]/mtu"),
		Replace: updates("/vpp.interfaces[name=b]", `{"name": "b", "mtu": 1}`), Update: updates("/vpp.interfaces[name=b]/enabled", "true"),
	})
	w.has("delete, then replace, then update", iface("a", 0), &interfaces.Interface{Name: "b", Mtu: 1, Enabled: true})
	w.set(&gpb.SetRequest{Replace: updates(b+"/memif", `{"socketFilename": "x"}`)})
	w.set(&gpb.SetRequest{Replace: updates(b+"/memif", `{"id": 3}`), Delete: paths("/config/vpp.interfaces[name=*]/mtu", "/config/vpp.interfaces[name=b]/enabled")})
	memif = &interfaces.Interface{Name: "b", Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Id: 3}}}
	w.has("replaced message", iface("a", 0), memif)
	w.set(&gpb.SetRequest{Replace: updates("/config/vpp.interfaces", `[{"name": "d"}]`)})
	w.has("replaced model", iface("d", 0))
	w.set(&gpb.SetRequest{Replace: updates("/", `{"config": {"vpp.interfaces": [{"name": "a"}], "vpp.route": {"dstNetwork": "10.0.0.0/8", "outgoingInterface": "a"}}}`)})
	w.has("replaced root", iface("a", 0))
	if got, err := w.get(&gpb.GetRequest{Path: paths("/state/vpp.route/state")}); err != nil || !strings.Contains(got, "CONFIGURED") {
		t.Errorf("route: %s, %v", got, err)
	}
	w.set(&gpb.SetRequest{Delete: paths("/")})
	w.has("deleted root")
	w.set(&gpb.SetRequest{})
}

// Values have the types of gNMI or protobuf.
func TestTypedValues(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	wire, err := proto.Marshal(&interfaces.MemifLink{Id: 9})
	if err != nil {
		t.Fatal(err)
	}
	str := func(s string) *gpb.TypedValue {
		return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: s}}
	}
	w.set(&gpb.SetRequest{Update: []*gpb.Update{
		{Path: path(a), Val: anyVal(t, &interfaces.Interface{Mtu: 7, IpAddresses: []string{"1.1.1.1/8"}})},
		{Path: path(a + "/mtu"), Val: &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 8}}},
		{Path: path(a + "/enabled"), Val: &gpb.TypedValue{Value: &gpb.TypedValue_BoolVal{BoolVal: true}}},
		{Path: path(a + "/type"), Val: str("MEMIF")},
		{Path: path(a + "/ipAddresses"), Val: &gpb.TypedValue{Value: &gpb.TypedValue_LeaflistVal{LeaflistVal: &gpb.ScalarArray{Element: []*gpb.TypedValue{str("2.2.2.2/8")}}}}},
		{Path: path(a + "/memif"), Val: &gpb.TypedValue{Value: &gpb.TypedValue_ProtoBytes{ProtoBytes: wire}}},
		{Path: path(a + "/vrf"), Val: &gpb.TypedValue{Value: &gpb.TypedValue_IntVal{IntVal: 2}}},
	}})
	w.has("typed", &interfaces.Interface{Name: "a", Mtu: 8, Enabled: true, Vrf: 2, Type: interfaces.Interface_MEMIF, IpAddresses: []string{"2.2.2.2/8"},
		Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Id: 9}}})
	for text, val := range map[string]*gpb.TypedValue{
		"expected a value in val":                        nil,
		"expected a whole number":                        str("x"),
		"ascii_val is not supported":                     {Value: &gpb.TypedValue_AsciiVal{AsciiVal: "8"}},
		"expected a scalar, or JSON":                     anyVal(t, &interfaces.Interface{}),
		"proto_bytes: expected a scalar":                 {Value: &gpb.TypedValue_ProtoBytes{ProtoBytes: wire}},
		"malformed JSON":                                 jsonVal("{"),
		"expected a whole number from 0 to 9216, got -1": jsonVal("-1"),
	} {
		_, err := w.Set(w.Context(), &gpb.SetRequest{Update: []*gpb.Update{{Path: path(a + "/mtu"), Val: val}}})
		checkStatus(t, text, err, codes.InvalidArgument, "nothing was changed: update[0].val: ", text)
	}
}

// A request with a mistake changes nothing, and names all mistakes.
func TestSetErrors(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.put("files", iface("d", 1))
	w.set(&gpb.SetRequest{Update: updates(a, `{}`)})
	_, err := w.Set(w.Context(), &gpb.SetRequest{
		Delete: paths("/config/vpp.interface", "/state/vpp.interfaces", a+"/name"),
		Replace: updates("/counters/vpp.interfaces[name=a]", "{}", "/config/vpp.interfaces[name=*]", "{}", a, `{"name": "b"}`, "/config", `{"vpp.interfcs": []}`,
			"/config/vpp.interfaces", `[{"name": "c"}, {"mtu": 5}, {"name": "c", "typo": 1}]`),
		Update: updates(b, `{"mtu": 9001}`, a+"/mtu", `"x"`, "/config/vpp.interfaces/mtu", "7", "/", `{"state": {}}`, a+"/name", `"b"`, a+"/mtuu", "1"),
	})
	checkStatus(t, "mistakes", err, codes.InvalidArgument, "nothing was changed: ", "and 12 more")
	want := "delete[0].elem[1] delete[1].elem[0] delete[2] replace[0].path.elem[0] replace[1].path replace[2].val.name replace[3].val.vpp.interfcs " +
		"replace[4].val[1] replace[4].val[2].typo update[1].val update[2].path update[3].val update[4].path update[5].path.elem[2] update[0].val.mtu"
	if got := strings.Join(fieldsOf(err), " "); got != want {
		t.Errorf("fields\n%s\nwant\n%s", got, want)
	}
	w.has("mistakes", iface("a", 0), iface("d", 1))
	for _, c := range []struct {
		req  *gpb.SetRequest
		code codes.Code
		text string
	}{
		{&gpb.SetRequest{Delete: paths("/config/vpp.interfaces[name=d]")}, codes.FailedPrecondition, "source files"},
		{&gpb.SetRequest{Update: updates(b, "{}", "/config/vpp.acls.acl[name=x]", "{}")}, codes.FailedPrecondition, "update[1].val: no plugin handles config/vpp/acls"},
		{&gpb.SetRequest{UnionReplace: updates(b, "{}"), Update: updates(b, "{}")}, codes.InvalidArgument, "union_replace: excludes"},
		{&gpb.SetRequest{Replace: updates("/config", "null")}, codes.InvalidArgument, "replace[0].val: expected a JSON object"},
		{&gpb.SetRequest{Replace: updates("/", `{"config": null}`)}, codes.InvalidArgument, "replace[0].val.config: expected a JSON object"},
		{&gpb.SetRequest{Replace: updates("/config", `{"vpp.route": [], "vpp.route": []}`)}, codes.InvalidArgument, "vpp.route is given twice"},
		{&gpb.SetRequest{Replace: updates("/config/vpp.interfaces", `[{"name": "b"}, {"name": "c"}, {"name": "b", "mtu": 1}]`)}, codes.InvalidArgument, "replace[0].val[2]: the same item as replace[0].val[0]"},
		{&gpb.SetRequest{Replace: updates("/config/vpp.interfaces", `null`)}, codes.InvalidArgument, "replace[0].val: expected a mapping"},
		{&gpb.SetRequest{UnionReplace: updates(b, `{"mtu": 1}`, b+"/mtu", "2")}, codes.InvalidArgument, "union_replace[0].val: contradicts"},
		{&gpb.SetRequest{Prefix: &gpb.Path{Target: "x"}}, codes.NotFound, `"x" is not this agent`},
		{&gpb.SetRequest{Extension: []*ext.Extension{{Ext: &ext.Extension_Depth{Depth: &ext.Depth{}}}}}, codes.Unimplemented, "extension[0]: the extension depth"},
	} {
		_, err := w.Set(w.Context(), c.req)
		checkStatus(t, c.text, err, c.code, c.text)
	}
	w.has("mistakes", iface("a", 0), iface("d", 1))
	w.set(&gpb.SetRequest{Update: updates("/config/vpp.interfaces[name=d]/mtu", "2")}) // overrides the file
	w.has("overrides", iface("a", 0), iface("d", 2))
	w.set(&gpb.SetRequest{Delete: paths("/config")})
	w.has("the file again", iface("d", 1))
}

// A value that fails reverts everything.
func TestSetIsOneTransaction(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.set(&gpb.SetRequest{Update: updates(a, `{"mtu": 1}`)})
	w.SB.Inject(kvstest.Fault{Op: kvspb.TxnOperation_CREATE, Key: key("b"), Err: errors.New("no buffers"), Times: 1})
	_, err := w.Set(w.Context(), &gpb.SetRequest{Delete: paths(a), Update: updates(b, `{}`)})
	checkStatus(t, "revert", err, codes.FailedPrecondition, "the change was reverted: "+key("b"), "no buffers")
	w.has("reverted", iface("a", 1))
	if got, err := w.get(&gpb.GetRequest{Path: paths("/config")}); err != nil || got != a+` {"name":"a","mtu":1}`+"\n" {
		t.Errorf("configuration: %s, %v", got, err)
	}
}

// union_replace merges its values, and removes everything else of clients.
func TestUnionReplace(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.put("files", iface("d", 1))
	w.set(&gpb.SetRequest{Update: updates(a, `{"mtu": 1, "enabled": true}`, b, `{}`)})
	w.set(&gpb.SetRequest{UnionReplace: updates("/config", `{"vpp.interfaces": [{"name": "a", "vrf": 2}, {"name": "c"}]}`, a, `{"mtu": 3}`, a+"/vrf", "2")})
	w.has("union", &interfaces.Interface{Name: "a", Vrf: 2, Mtu: 3}, iface("c", 0), iface("d", 1))
}

// A hidden secret that the client sends back keeps its value.
func TestSecrets(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	const m = "/config/vpp.interfaces[name=m]"
	secret := &interfaces.Interface{Name: "m", Type: interfaces.Interface_MEMIF, Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Secret: "open sesame"}}}
	w.set(&gpb.SetRequest{Update: []*gpb.Update{{Path: path(m), Val: anyVal(t, secret)}}})
	got, err := w.get(&gpb.GetRequest{Path: paths(m, m+"/memif/secret")})
	if err != nil || strings.Contains(got, "sesame") || !strings.Contains(got, `/memif/secret "***"`) {
		t.Errorf("hidden: %s, %v", got, err)
	}
	w.set(&gpb.SetRequest{Replace: updates(m, strings.Fields(got)[1], m+"/memif/secret", `"***"`), Update: updates(m+"/mtu", "5")})
	secret.Mtu = 5
	w.has("secret", secret)
	shown, err := w.Get(metadata.AppendToOutgoingContext(w.Context(), grpc.ShowSecretsMetadata, "true"), &gpb.GetRequest{Path: paths(m)})
	if err != nil || !strings.Contains(shown.String(), "sesame") {
		t.Errorf("shown: %v, %v", shown, err)
	}
	_, err = w.Set(w.Context(), &gpb.SetRequest{Update: updates(b+"/memif", `{"secret": "***"}`)})
	checkStatus(t, "no secret", err, codes.InvalidArgument, "update[0].val.memif.secret: ***")
}

func commit(c *ext.Commit) []*ext.Extension {
	return []*ext.Extension{{Ext: &ext.Extension_Commit{Commit: c}}}
}

func begin(id string, d time.Duration) []*ext.Extension {
	return commit(&ext.Commit{Id: id, Action: &ext.Commit_Commit{Commit: &ext.CommitRequest{RollbackDuration: durationpb.New(d)}}})
}

// A commit is kept if it is confirmed, and reverted if it is canceled or the time is over.
func TestCommit(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	cancel := func(id string) []*ext.Extension {
		return commit(&ext.Commit{Id: id, Action: &ext.Commit_Cancel{Cancel: &ext.CommitCancel{}}})
	}
	confirm := func(id string) []*ext.Extension {
		return commit(&ext.Commit{Id: id, Action: &ext.Commit_Confirm{Confirm: &ext.CommitConfirm{}}})
	}
	extend := func(id string, d time.Duration) []*ext.Extension {
		return commit(&ext.Commit{Id: id, Action: &ext.Commit_SetRollbackDuration{SetRollbackDuration: &ext.CommitSetRollbackDuration{RollbackDuration: durationpb.New(d)}}})
	}
	w.set(&gpb.SetRequest{Update: updates(a, `{"mtu": 1}`), Extension: begin("x", time.Hour)})
	for _, c := range []struct {
		ext  []*ext.Extension
		code codes.Code
		text string
	}{
		{confirm("y"), codes.InvalidArgument, `extension[0].commit.id: another change is waiting for confirmation: its ID is "x", not "y"`},
		{cancel("y"), codes.InvalidArgument, "its ID is"},
		{extend("y", time.Hour), codes.InvalidArgument, "its ID is"},
		{extend("x", -1), codes.InvalidArgument, "set_rollback_duration.rollback_duration: -1ns: expected a positive duration"},
		{begin("z", 0), codes.InvalidArgument, "commit.commit.rollback_duration"},
		{begin("z", time.Hour), codes.FailedPrecondition, "a change is waiting for confirmation"},
		{nil, codes.FailedPrecondition, "a change is waiting for confirmation"},
		{confirm(""), codes.InvalidArgument, "extension[0].commit.id: expected an ID"},
		{commit(&ext.Commit{Id: "x"}), codes.InvalidArgument, "expected commit, confirm"},
		{append(confirm("x"), confirm("x")...), codes.InvalidArgument, "extension[1]: a second commit"},
	} {
		_, err := w.Set(w.Context(), &gpb.SetRequest{Extension: c.ext})
		checkStatus(t, c.text, err, c.code, c.text)
	}
	_, err := w.Set(w.Context(), &gpb.SetRequest{Extension: confirm("x"), Update: updates(b, "{}")})
	checkStatus(t, "with changes", err, codes.InvalidArgument, "exclude changes")
	w.set(&gpb.SetRequest{Extension: confirm("x")})
	_, err = w.Set(w.Context(), &gpb.SetRequest{Extension: confirm("x")})
	checkStatus(t, "confirmed twice", err, codes.FailedPrecondition, "no change is waiting")
	w.has("confirmed", iface("a", 1))

	w.set(&gpb.SetRequest{Update: updates(a+"/mtu", `2`, b, "{}"), Extension: begin("y", time.Hour)})
	w.has("canceled", iface("a", 2), iface("b", 0))
	w.set(&gpb.SetRequest{Extension: cancel("y")})
	w.has("canceled", iface("a", 1))

	w.set(&gpb.SetRequest{Update: updates(a+"/mtu", `3`), Extension: begin("z", time.Hour)})
	w.set(&gpb.SetRequest{Extension: extend("z", 2*time.Hour)})
	w.set(&gpb.SetRequest{Extension: extend("z", time.Millisecond)})
	watch := w.Orchestrator.WatchItems()
	defer watch.Close()
	for w.stored("a") != 1 {
		select {
		case <-watch.Changed():
		case <-w.Context().Done():
			t.Fatal("not reverted")
		}
	}
}

// stored returns the MTU of an interface of clients.
func (w *world) stored(name string) uint32 {
	return w.Orchestrator.Item(key(name)).Sources[0].Val.(*interfaces.Interface).Mtu
}

// A request may have 100,000 items.
func TestManyItems(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	const n = 100_000
	req := &gpb.SetRequest{Update: updates(a, "{}")}
	for i := range n {
		dst := fmt.Sprintf("%d.%d.%d.0/24", 20+i>>16, i>>8&255, i&255)
		req.Update = append(req.Update, updates("/config/vpp.route[vrfId=0][dstNetwork="+dst+"][nextHopAddr=][outgoingInterface=a]", `{"weight": 1}`)...)
	}
	resp, err := w.Set(w.Context(), req, rpc.MaxCallRecvMsgSize(64<<20))
	if err != nil || len(resp.Response) != n+1 {
		t.Fatalf("%d results, %v", len(resp.GetResponse()), err)
	}
	route := &l3.Route{DstNetwork: "20.1.2.0/24", OutgoingInterface: "a", Weight: 1}
	if got := len(w.Orchestrator.ListData("grpc")); got != n+1 {
		t.Errorf("%d items, want %d", got, n+1)
	}
	routeKey, _ := w.Orchestrator.Models().KeyOf(route)
	if got := w.SB.Get(routeKey); got == nil || !proto.Equal(got, route) {
		t.Errorf("route %v", got)
	}
	w.set(&gpb.SetRequest{Delete: paths("/config/vpp.route")})
	w.has("without routes", iface("a", 0))
}

package gnmi_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/observable"
	"github.com/tenuto-dev/tenuto/plugins/gnmi"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/orchtest"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stats are the counters of a VPP.
type stats struct {
	mu   sync.Mutex
	list []*interfaces.InterfaceStats
	ages []time.Duration // that were asked for
}

// set replaces the counters; without any they cannot be read.
func (s *stats) set(list ...*interfaces.InterfaceStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

func (s *stats) InterfaceStats(maxAge time.Duration) ([]*interfaces.InterfaceStats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ages = append(s.ages, maxAge)
	if s.list == nil {
		return nil, errors.New("no stats segment")
	}
	return s.list, nil
}

// states are the operational states of the interfaces of a VPP.
type states struct {
	observable.Values[*interfaces.InterfaceNotification]
}

func (s *states) List() (list []*interfaces.InterfaceState) {
	for _, n := range s.Values.List() {
		list = append(list, n.GetState())
	}
	return list
}

type label string

func (l label) GetAgentLabel() string { return string(l) }

// world is an agent with a mock southbound, and a client of it.
type world struct {
	*orchtest.Agent
	gpb.GNMIClient
	t *testing.T
}

func start(t *testing.T, counters *stats) *world {
	t.Helper()
	return startWith(t, counters, nil)
}

func startWith(t *testing.T, counters *stats, links *states) *world {
	t.Helper()
	w := &world{t: t, Agent: orchtest.New(t)}
	w.start(func(d *gnmi.Deps) {
		d.Cfg = config.Text("gnmi", "min-sample-interval: 10ms\nsample-interval: 20ms")
		if counters != nil {
			d.Stats = counters
		}
		if links != nil {
			d.Links = links
		}
	})
	return w
}

// start starts the agent with the plugin, whose other dependencies are set by more.
func (w *world) start(more func(*gnmi.Deps)) {
	w.t.Helper()
	p := &gnmi.Plugin{Deps: gnmi.Deps{GRPC: w.GRPC, Orchestrator: w.Orchestrator, Scheduler: w.Scheduler, Label: label("vpp1")}}
	more(&p.Deps)
	w.Start(p)
	w.GNMIClient = gpb.NewGNMIClient(w.Conn)
}

// put makes items of another source.
func (w *world) put(source string, items ...proto.Message) {
	w.t.Helper()
	var kvs []orchestrator.KeyVal
	for _, it := range items {
		key, err := w.Orchestrator.Models().KeyOf(it)
		if err != nil {
			w.t.Fatal(err)
		}
		kvs = append(kvs, orchestrator.KeyVal{Key: key, Val: it})
	}
	if _, err := w.Orchestrator.PushData(w.Context(), source, kvs); err != nil {
		w.t.Fatal(err)
	}
}

// path reads a path such as /config/vpp.interfaces[name=loop1]/mtu.
func path(text string) *gpb.Path {
	p := &gpb.Path{}
	depth, from := 0, 0
	add := func(elem string) {
		if elem == "" {
			return
		}
		name, keys, _ := strings.Cut(elem, "[")
		e := &gpb.PathElem{Name: name}
		for _, k := range strings.Split(strings.TrimSuffix(keys, "]"), "][") {
			if k, v, ok := strings.Cut(k, "="); ok {
				if e.Key == nil {
					e.Key = map[string]string{}
				}
				e.Key[k] = v
			}
		}
		p.Elem = append(p.Elem, e)
	}
	for i, c := range text {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == '/' && depth == 0:
			add(text[from:i])
			from = i + 1
		}
	}
	add(text[from:])
	return p
}

// text writes a path as path reads it, with its keys in the order of the model.
func (w *world) text(p *gpb.Path) string {
	var b strings.Builder
	for _, e := range p.GetElem() {
		b.WriteString("/" + e.Name)
		for _, key := range []string{"name", "key", "state", "vrfId", "dstNetwork", "nextHopAddr", "outgoingInterface"} {
			if v, ok := e.Key[key]; ok {
				b.WriteString("[" + key + "=" + v + "]")
			}
		}
	}
	return b.String()
}

// get returns the updates of a Get as lines.
func (w *world) get(req *gpb.GetRequest) (lines string, err error) {
	w.t.Helper()
	resp, err := w.Get(w.Context(), req)
	var b strings.Builder
	for _, n := range resp.GetNotification() {
		if n.Timestamp == 0 || n.GetPrefix().GetTarget() != req.GetPrefix().GetTarget() {
			w.t.Errorf("notification %v", n)
		}
		for _, u := range n.Update {
			b.WriteString(w.text(u.Path) + " " + val(u.Val) + "\n")
		}
	}
	return b.String(), err
}

func val(v *gpb.TypedValue) string {
	if text := v.GetJsonVal(); text != nil {
		return string(text)
	}
	return strings.ReplaceAll(v.String(), "  ", " ")
}

func paths(texts ...string) (list []*gpb.Path) {
	for _, text := range texts {
		list = append(list, path(text))
	}
	return list
}

func iface(name string, mtu uint32) *interfaces.Interface {
	return &interfaces.Interface{Name: name, Mtu: mtu}
}

func key(name string) string { return ifmodel.InterfaceModel.KeyFor(name) }

// checkStatus compares the code and parts of the text of a status.
func checkStatus(t *testing.T, what string, err error, code codes.Code, texts ...string) {
	t.Helper()
	st := status.Convert(err)
	for _, text := range texts {
		if !strings.Contains(st.Message(), text) {
			t.Errorf("%s: %q lacks %q", what, st.Message(), text)
		}
	}
	if st.Code() != code {
		t.Errorf("%s: %v, want %v: %s", what, st.Code(), code, st.Message())
	}
	if strings.Contains(st.Message(), "rpc error") {
		t.Errorf("%s: %q has a status within the text", what, st.Message())
	}
}

// fieldsOf returns the fields in the details of a status.
func fieldsOf(err error) (fields []string) {
	for _, d := range status.Convert(err).Details() {
		for _, v := range d.(*errdetails.BadRequest).FieldViolations {
			fields = append(fields, v.Field)
		}
	}
	return fields
}

// Capabilities has the models of the agent.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	resp, err := w.Capabilities(w.Context(), &gpb.CapabilityRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if resp.GNMIVersion != "0.10.0" || len(resp.SupportedEncodings) != 3 || len(resp.SupportedModels) != len(w.Orchestrator.Models().All()) {
		t.Errorf("version %s, encodings %v, %d models", resp.GNMIVersion, resp.SupportedEncodings, len(resp.SupportedModels))
	}
	for _, m := range resp.SupportedModels {
		if m.Name == "vpp.interfaces" && m.Organization == "ligato" && m.Version == "v2" {
			return
		}
	}
	t.Error("vpp.interfaces is missing")
}

// Get returns items, states and counters, whole or by field.
func TestGet(t *testing.T) {
	t.Parallel()
	w := start(t, &stats{list: []*interfaces.InterfaceStats{{Name: "a", Drops: 3, Rx: &interfaces.InterfaceStats_CombinedCounter{Packets: 7}}, {Name: "local0"}}})
	w.put("grpc", iface("a", 1500), iface("b", 9000), &l3.Route{DstNetwork: "10.0.0.0/8", OutgoingInterface: "c"})
	const a, route = "/config/vpp.interfaces[name=a]", "/config/vpp.route[vrfId=0][dstNetwork=10.0.0.0/8][nextHopAddr=][outgoingInterface=c]"
	const whole = a + ` {"name":"a","mtu":1500}` + "\n"
	b := "/config/vpp.interfaces[name=b]" + ` {"name":"b","mtu":9000}` + "\n"
	r := route + ` {"dstNetwork":"10.0.0.0/8","outgoingInterface":"c"}` + "\n"
	counters := `/counters/vpp.interfaces[name=a] {"name":"a","rx":{"packets":"7"},"drops":"3"}` + "\n" + `/counters/vpp.interfaces[name=local0] {"name":"local0"}` + "\n"
	for _, c := range []struct {
		req  *gpb.GetRequest
		want string
	}{
		{&gpb.GetRequest{Path: paths(a)}, whole},
		{&gpb.GetRequest{Path: paths(a+"/mtu", a+"/enabled", a+"/ip_addresses", a+"/rxModes", a+"/type")},
			a + "/mtu 1500\n" + a + "/enabled false\n" + a + "/ipAddresses []\n" + a + "/rxModes []\n" + a + `/type "UNDEFINED_TYPE"` + "\n"},
		{&gpb.GetRequest{Path: paths("/config/vpp.interfaces")}, whole + b},
		{&gpb.GetRequest{Path: paths("/config/vpp.interfaces[name=*]/mtu")}, a + "/mtu 1500\n/config/vpp.interfaces[name=b]/mtu 9000\n"},
		{&gpb.GetRequest{Path: paths("/config/vpp.route[outgoingInterface=c]")}, r},
		{&gpb.GetRequest{Path: paths("/config/vpp.route[vrfId=0][dstNetwork=10.9.9.9/8][nextHopAddr=][outgoingInterface=c]")}, r},
		{&gpb.GetRequest{Prefix: &gpb.Path{Target: "vpp1", Origin: "tenuto", Elem: path("/config").Elem}}, whole + b + r},
		{&gpb.GetRequest{Type: gpb.GetRequest_CONFIG, Path: paths("/...")}, whole + b + r},
		{&gpb.GetRequest{Type: gpb.GetRequest_STATE, Path: paths("/config", a)}, ""},
		{&gpb.GetRequest{UseModels: []*gpb.ModelData{{Name: "vpp.route", Version: "v2"}}, Path: paths("/config")}, r},
		{&gpb.GetRequest{Path: paths("/state/vpp.interfaces[name=a]/state", "/state/*/lastOperation")},
			`/state/vpp.interfaces[name=a]/state "CONFIGURED"` + "\n" + `/state/vpp.interfaces[name=a]/lastOperation "CREATE"` + "\n" +
				`/state/vpp.interfaces[name=b]/lastOperation "CREATE"` + "\n" + strings.Replace(route, "config", "state", 1) + `/lastOperation "CREATE"` + "\n"},
		{&gpb.GetRequest{Path: paths("/counters")}, counters},
		{&gpb.GetRequest{Path: paths("/counters/*/rx/packets")}, "/counters/vpp.interfaces[name=a]/rx/packets \"7\"\n"},
		{&gpb.GetRequest{Encoding: gpb.Encoding_PROTO, Path: paths(a+"/mtu", a+"/name", a+"/ipAddresses")},
			a + "/mtu uint_val:1500\n" + a + "/name string_val:\"a\"\n" + a + "/ipAddresses leaflist_val:{}\n"},
		{&gpb.GetRequest{Encoding: gpb.Encoding_JSON_IETF, Path: paths(a + "/mtu")}, a + "/mtu json_ietf_val:\"1500\"\n"},
	} {
		if got, err := w.get(c.req); err != nil || got != c.want {
			t.Errorf("%v: %v\n%s\nwant\n%s", c.req, err, got, c.want)
		}
	}
	resp, err := w.Get(w.Context(), &gpb.GetRequest{Encoding: gpb.Encoding_PROTO, Path: paths(a)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := resp.Notification[0].Update[0].Val.GetAnyVal().UnmarshalNew(); err != nil || !proto.Equal(got, iface("a", 1500)) {
		t.Errorf("as protobuf: %v, %v", got, err)
	}
}

// Errors of Get name the element, and what was probably meant.
func TestGetErrors(t *testing.T) {
	t.Parallel()
	w := start(t, &stats{})
	w.put("grpc", iface("loop1", 1500))
	for _, c := range []struct {
		path string
		code codes.Code
		text string
	}{
		{"/confg", codes.InvalidArgument, `path[0].elem[0]: "confg": unknown tree, expected one of config, state, operational, counters; did you mean config?`},
		{"/config/vpp.interface", codes.InvalidArgument, `path[0].elem[1]: /config has no model "vpp.interface"; did you mean vpp.interfaces?`},
		{"/counters/vpp.route", codes.InvalidArgument, `/counters has no model "vpp.route"`},
		{"/config/vpp.interfaces[nam=loop1]", codes.InvalidArgument, `unknown key "nam" of vpp.interfaces, expected name; did you mean name?`},
		{"/config/vpp.interfaces[name=loop1]/mtuu", codes.InvalidArgument, `path[0].elem[2]: unknown field "mtuu" of Interface; did you mean mtu?`},
		{"/config/vpp.interfaces[name=loop1]/mtu/x", codes.InvalidArgument, "mtu is a uint32"},
		{"/config/vpp.interfaces[name=loop1]/ipAddresses/x", codes.InvalidArgument, "ipAddresses is a list"},
		{"/config/vpp.interfaces[name=loop1]/*", codes.InvalidArgument, "wildcards"},
		{"/config/*/mtu", codes.InvalidArgument, "fields need the name of a model"},
		{"/*/vpp.interfaces/mtu", codes.InvalidArgument, "fields need the name of a tree"},
		{"/config/.../mtu", codes.InvalidArgument, "end of a path"},
		{"/config/*[name=x]", codes.InvalidArgument, "keys need the name of a model"},
		{"/config[name=x]", codes.InvalidArgument, "keys belong to the element of a model"},
		{"/config/vpp.route[vrfId=x]", codes.InvalidArgument, `key vrfId: "x": expected a number of type uint32`},
		{"/config/vpp.l3xconnect[protocol=IPV5]", codes.InvalidArgument, "did you mean IPV4?"},
		{"/config/vpp.proxyarp-global[name=x]", codes.InvalidArgument, "no keys"},
		{"/config/vpp.interfaces[name=]", codes.InvalidArgument, "name no item"},
		{"/config/vpp.interfaces[name=loop2]", codes.NotFound, "no source configures vpp.interfaces loop2; did you mean loop1?"},
		{"/config/vpp.interfaces[name=loop1]/memif", codes.NotFound, "vpp.interfaces loop1 is not in /config with memif"},
		{"/counters/vpp.interfaces[name=loop1]", codes.Unavailable, "no stats segment"},
	} {
		_, err := w.get(&gpb.GetRequest{Path: paths(c.path)})
		checkStatus(t, c.path, err, c.code, c.text)
	}
	for text, req := range map[string]*gpb.GetRequest{
		"element: this form":  {Path: []*gpb.Path{{Element: []string{"config"}}}},
		`origin "openconfig"`: {Path: []*gpb.Path{{Origin: "openconfig"}}},
		"expected it in the":  {Path: []*gpb.Path{{Target: "vpp1"}}},
		"unknown model":       {UseModels: []*gpb.ModelData{{Name: "vpp.interface"}}},
		`version "v2"`:        {UseModels: []*gpb.ModelData{{Name: "vpp.interfaces", Version: "v3"}}},
		"expected ALL":        {Type: 9},
	} {
		_, err := w.get(req)
		checkStatus(t, text, err, codes.InvalidArgument, text)
	}
	_, err := w.get(&gpb.GetRequest{Encoding: gpb.Encoding_ASCII})
	checkStatus(t, "encoding", err, codes.Unimplemented, "JSON, JSON_IETF, PROTO")
	_, err = w.Get(w.Context(), &gpb.GetRequest{Prefix: &gpb.Path{Target: "vpp2"}})
	checkStatus(t, "target", err, codes.NotFound, `"vpp2" is not this agent: expected "vpp1"`)
	if _, err := w.get(&gpb.GetRequest{Path: paths("/")}); err != nil { // without the counters, which cannot be read
		t.Error(err)
	}
	_, err = w.get(&gpb.GetRequest{Path: paths("/x", "/config/y")})
	if got := strings.Join(fieldsOf(err), " "); got != "path[0].elem[0] path[1].elem[1]" {
		t.Errorf("fields %s", got)
	}
}

// A model of a custom agent is read, written and followed like any other; without the option
// (ligato.item), its items have one key.
func TestCustomModel(t *testing.T) {
	t.Parallel()
	things := models.New(models.Spec{Module: "custom", Version: "v1", Type: "thing"}, func(v *kvspb.ValueStatus) string { return v.GetState().String() + "/" + v.GetKey() })
	set, err := models.NewSet(things)
	if err != nil {
		t.Fatal(err)
	}
	sb := kvstest.NewMockSB()
	w := &world{t: t, Agent: orchtest.NewWith(t, sb, []*api.KVDescriptor{orchtest.Describe(sb, "thing", things, nil)}, orchestrator.UseCodec(document.New(set)))}
	w.start(func(*gnmi.Deps) {})

	const thing = "/config/custom.thing[key=PENDING/x]"
	follower := w.subscribe(&gpb.SubscriptionList{Prefix: vpp1, UpdatesOnly: true, Subscription: subs(0, "/config/custom.thing")})
	follower.expect("sync")
	w.set(&gpb.SetRequest{Update: updates(thing, `{"key":"x","state":"PENDING","details":["one"]}`)})
	want := thing + ` {"key":"x","state":"PENDING","details":["one"]}` + "\n" + `/state/custom.thing[key=PENDING/x]/state "CONFIGURED"` + "\n"
	if got, err := w.get(&gpb.GetRequest{Path: paths("/config/custom.thing[key=PENDING/x]", "/state/*/state")}); err != nil || got != want {
		t.Errorf("get: %s, %v", got, err)
	}
	follower.until(`"details":["one"]`)
	resp, err := w.Capabilities(w.Context(), &gpb.CapabilityRequest{})
	if err != nil || len(resp.SupportedModels) != 1 || resp.SupportedModels[0].Name != "custom.thing" {
		t.Errorf("capabilities %v, %v", resp, err)
	}
	_, err = w.get(&gpb.GetRequest{Path: paths("/config/custom.things")})
	checkStatus(t, "nearest", err, codes.InvalidArgument, "did you mean custom.thing?")
}

// The configuration of the plugin has descriptions and good defaults.
func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(gnmi.DefaultConfig()); err != nil {
		t.Error(err)
	}
	for _, c := range []gnmi.Config{{}, {MinSampleInterval: time.Second}} {
		if c.Validate() == nil {
			t.Errorf("%v is valid", c)
		}
	}
}

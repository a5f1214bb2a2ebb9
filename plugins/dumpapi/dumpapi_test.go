package dumpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/dumpapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	linuxidx "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	l2desc "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/descriptor"
	linuxif "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	linuxl3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scheduler has values by descriptor.
type scheduler map[string][]api.KVWithMetadata

func (s scheduler) ListDescriptors() []*api.KVDescriptor {
	retrieve := func([]api.KV[proto.Message, api.Metadata]) ([]api.KV[proto.Message, api.Metadata], error) {
		return nil, nil
	}
	return []*api.KVDescriptor{
		{Name: "itf", NBKeyPrefix: "config/vpp/v2/interfaces/", Retrieve: retrieve},
		{Name: "bd", NBKeyPrefix: "config/vpp/l2/v2/bridge-domain/", Retrieve: retrieve},
		{Name: "fib", NBKeyPrefix: "config/vpp/l2/v2/fib/", Retrieve: retrieve},
		{Name: "xc", NBKeyPrefix: "config/vpp/l2/v2/xconnect/", Retrieve: retrieve},
		{Name: "larp", NBKeyPrefix: "config/linux/l3/v2/arp/", Retrieve: retrieve},
		{Name: "litf", NBKeyPrefix: "config/linux/interfaces/v2/interface/", Retrieve: retrieve},
		{Name: "write-only", NBKeyPrefix: "config/vpp/v2/route/"},
		{Name: "derived"},
	}
}

func (s scheduler) DumpValuesByDescriptor(name string, view api.View) ([]api.KVWithMetadata, error) {
	kvs, ok := s[name]
	if !ok || view == api.NBView {
		return nil, errors.New("disconnected")
	}
	return kvs, nil
}

// details are what VPP reports about interfaces; nil: nothing.
type details []vppcalls.Details

func (d details) DumpInterfaces(context.Context) ([]vppcalls.Details, error) {
	if d == nil {
		return nil, errors.New("no answer")
	}
	return d, nil
}

func ask(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// connection is a connection to VPP that is up.
type connection struct{}

func (connection) Session() govppmux.Session { return govppmux.Session{Epoch: 3, Up: true} }
func (connection) Stats() govppmux.Stats {
	return govppmux.Stats{Requests: 10, Replies: 20, InFlight: 1, Timeouts: 2, Rejected: 4}
}

func TestMetric(t *testing.T) {
	t.Parallel()
	url := start(t, scheduler{}, nil)
	var got map[string]int
	code, body := ask(t, url+"/metrics/govppmux.stats")
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != 200 {
		t.Fatalf("%d, %v: %s", code, err, body)
	}
	want := map[string]int{"channels_created": 3, "channels_open": 1, "requests_sent": 10, "requests_done": 7, "requests_fail": 6, "request_replies": 20}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if code, body := ask(t, url+"/metrics/none"); code != 404 || !strings.Contains(body, "expected govppmux.stats") {
		t.Errorf("%d %s", code, body)
	}
}

type links struct{}

func (links) Link(name string) (netlinkapi.Link, error) {
	return netlinkapi.Link{Index: 30, Name: name, Up: true, Running: true, Master: 3, Parent: 31,
		Queues: netlinkapi.LinkQueues{RX: 2, TX: 4, Length: 1000}}, nil
}

func start(t *testing.T, s scheduler, d dumpapi.VPPInterfaces) string {
	t.Helper()
	server := rest.NewPlugin(rest.UseDeps(func(d *rest.Deps) { d.Cfg = config.Text("http", "endpoint: 127.0.0.1:0") }))
	agenttest.Start(t, dumpapi.NewPlugin(dumpapi.UseDeps(func(deps *dumpapi.Deps) {
		deps.HTTP, deps.Scheduler, deps.Interfaces, deps.VPP, deps.Links = server, s, d, connection{}, links{}
	})))
	return server.URL()
}

func TestDump(t *testing.T) {
	t.Parallel()
	s := scheduler{
		"itf": {
			{Key: "config/vpp/v2/interfaces/sub", Value: &interfaces.Interface{Name: "sub", Type: interfaces.Interface_SUB_INTERFACE},
				Metadata: &ifaceidx.IfMeta{SwIfIndex: 7, Vrf: 3, InternalName: "tap0.5"}},
			{Key: "config/vpp/v2/interfaces/wg", Value: &interfaces.Interface{Name: "wg", Type: interfaces.Interface_WIREGUARD_TUNNEL,
				Link: &interfaces.Interface_Wireguard{Wireguard: &interfaces.WireguardLink{PrivateKey: "hush-hush"}}},
				Metadata: &ifaceidx.IfMeta{SwIfIndex: 8}},
			{Key: "config/vpp/v2/interfaces/gone", Metadata: &ifaceidx.IfMeta{SwIfIndex: 9}},
			{Key: "config/vpp/v2/interfaces/odd", Value: &interfaces.Interface{Name: "odd"}},
		},
		"fib": {{Key: "f", Value: &l2.FIBEntry{PhysAddress: "62:89:C6:A3:6D:5C", BridgeDomain: "bd1"}}},
	}
	url := start(t, s, details{{SwIfIndex: 7, SubInterface: true, Parent: 6, SubID: 5, MTU: 1500, Tag: "sub", MAC: vppcalls.MAC{2, 0, 0, 0, 0, 1}, AdminUp: true}})
	status, body := ask(t, url+"/dump/vpp/v2/interfaces")
	var all map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &all); err != nil || status != http.StatusOK || len(all) != 2 || strings.Contains(body, "hush-hush") {
		t.Fatalf("%d %v\n%s", status, err, body)
	}
	const meta = `{"sw_if_index":7,"sub_sw_if_index":6,"l2_address":"AgAAAAAB","internal_name":"tap0.5","dev_type":"","is_admin_state_up":true,` +
		`"is_link_state_up":false,"link_duplex":0,"link_mtu":1500,"mtu":[1500,0,0,0],"link_speed":0,"sub_id":5,"tag":"sub","dhcp":null,"vrf_ipv4":3,"vrf_ipv6":3,"pci":0}`
	if got := compact(t, all["7"]["interface_meta"]); got != meta {
		t.Errorf("got  %s\nwant %s", got, meta)
	}
	if got := compact(t, all["7"]["interface"]); got != `{"name":"sub","type":1,"Link":null}` {
		t.Errorf("got %s", got)
	}
	if _, body := ask(t, url+"/dump/vpp/v2/interfaces?show-secrets"); !strings.Contains(body, "hush-hush") {
		t.Errorf("asked for secrets: %s", body)
	}
	if status, body := ask(t, url+"/dump/vpp/v2/interfaces/sub"); status != http.StatusOK || strings.Contains(body, `"8"`) || !strings.Contains(body, `"7"`) {
		t.Errorf("of one type: %d %s", status, body)
	}
	if status, body := ask(t, url+"/dump/vpp/v2/interfaces/x"); status != http.StatusNotFound || !strings.Contains(body, "expected one of afpacket, bond") {
		t.Errorf("of an unknown type: %d %s", status, body)
	}
	if _, body := ask(t, url+"/dump/vpp/v2/fib"); compact(t, []byte(body)) != `{"62:89:C6:A3:6D:5C":{"fib":{"phys_address":"62:89:C6:A3:6D:5C","bridge_domain":"bd1"},"fib_meta":{"bridge_domain_id":0,"outgoing_interface_sw_if_idx":4294967295}}}` {
		t.Errorf("fib: %s", body)
	}
	if status, body := ask(t, url+"/dump/vpp/v2/bd"); status != http.StatusServiceUnavailable || !strings.Contains(body, "read from the southbound: disconnected") {
		t.Errorf("what cannot be read: %d %s", status, body)
	}
	for _, path := range []string{"/dump/vpp/v2/routes", "/dump/vpp/v2/arps", "/dump/linux/v2/routes"} {
		if status, _ := ask(t, url+path); status != http.StatusNotFound {
			t.Errorf("%s, which cannot be read: %d", path, status)
		}
	}
}

// The responses have the form of the predecessor's.
func TestFormOfDumps(t *testing.T) {
	t.Parallel()
	s := scheduler{
		"itf": {{Value: &interfaces.Interface{Name: "mem2"}, Metadata: &ifaceidx.IfMeta{SwIfIndex: 4}},
			{Value: &interfaces.Interface{Name: "mem3"}, Metadata: &ifaceidx.IfMeta{SwIfIndex: 5}}},
		"bd":   {{Value: &l2.BridgeDomain{Name: "bd1"}, Metadata: &l2desc.BDMeta{ID: 1}}},
		"fib":  {{Value: &l2.FIBEntry{PhysAddress: "02:fe:00:00:00:99", BridgeDomain: "bd1", OutgoingInterface: "mem2"}}},
		"xc":   {{Value: &l2.XConnectPair{ReceiveInterface: "mem2", TransmitInterface: "mem3"}}},
		"litf": {{Value: &linuxif.Interface{Name: "v1"}, Metadata: linuxidx.LinuxIfMetadata{LinuxIfIndex: 30}}},
		"larp": {{Value: &linuxl3.ARPEntry{Interface: "v1", IpAddress: "10.99.0.2", HwAddress: "02:00:00:00:00:11"}}},
	}
	url := start(t, s, nil)
	for path, want := range map[string]string{
		"vpp/v2/bd": `[{"bridge_domain":{"name":"bd1"},"bridge_domain_meta":{"bridge_domain_id":1}}]`,
		"vpp/v2/fib": `{"02:fe:00:00:00:99":{"fib":{"phys_address":"02:fe:00:00:00:99","bridge_domain":"bd1","outgoing_interface":"mem2"},` +
			`"fib_meta":{"bridge_domain_id":1,"outgoing_interface_sw_if_idx":4}}}`,
		"vpp/v2/xc": `{"4":{"x_connect":{"receive_interface":"mem2","transmit_interface":"mem3"},` +
			`"x_connect_meta":{"receive_interface_sw_if_idx":4,"transmit_interface_sw_if_idx":5}}}`,
		"linux/v2/interfaces": `[{"interface":{"name":"v1","Link":null},"interface_meta":{"linux_if_index":30,"parent_index":31,"master_index":3,"oper_state":6,"flags":69699,` +
			`"encapsulation":"ether","num_rx_queue":2,"num_tx_queue":4,"tx_queue_len":1000}}]`,
		"linux/v2/arps": `[{"linux_arp":{"interface":"v1","ip_address":"10.99.0.2","hw_address":"02:00:00:00:00:11"},` +
			`"linux_arp_meta":{"interface_index":30,"ip_family":2,"vni":0}}]`,
	} {
		if status, body := ask(t, url+"/dump/"+path); status != http.StatusOK || compact(t, []byte(body)) != want {
			t.Errorf("%s: %d %s\nwant %s", path, status, body, want)
		}
	}
}

// What VPP reports besides is left out if it does not answer.
func TestDumpWithoutDetails(t *testing.T) {
	t.Parallel()
	s := scheduler{"itf": {{Key: "k", Value: &interfaces.Interface{Name: "a"}, Metadata: &ifaceidx.IfMeta{SwIfIndex: 7}}}}
	for _, d := range []dumpapi.VPPInterfaces{nil, details(nil)} {
		status, body := ask(t, start(t, s, d)+"/dump/vpp/v2/interfaces")
		if status != http.StatusOK || !strings.Contains(body, `"sw_if_index": 7`) || !strings.Contains(body, `"is_admin_state_up": false`) {
			t.Errorf("%d %s", status, body)
		}
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := json.NewEncoder(&b).Encode(json.RawMessage(text)); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

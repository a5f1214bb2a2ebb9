package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// fetch returns an answer as JSON.
func fetch(t *testing.T, url string, into any) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: patience}
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
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%s: %v\n%s", url, err, body)
	}
	return resp.StatusCode
}

// What there is can be read item by item, in the form that programs know.
func TestDumpsOfItems(t *testing.T) {
	t.Parallel()
	h := newHouse(t, network+`
  - {dstNetwork: 10.3.0.0/24, nextHopAddr: 10.1.0.3, outgoingInterface: loop1}
  bridgeDomains:
  - {name: bd1, learn: true, interfaces: [{name: loop2, bridgedVirtualInterface: true}]}
  fibs:
  - {physAddress: "62:89:C6:A3:6D:5C", bridgeDomain: bd1, action: DROP}
  arps:
  - {interface: loop1, ipAddress: 10.1.0.9, physAddress: "62:89:c6:a3:6d:5d", static: true}
  proxyArp: {interfaces: [{name: loop1}], ranges: [{firstIpAddr: 10.1.0.20, lastIpAddr: 10.1.0.30}]}
`+"data: [{key: config/vpp/v2/interfaces/loop2, value: {name: loop2, type: SOFTWARE_LOOPBACK, enabled: true}}]\n", "--simulate")
	h.start(t)
	h.await(t, bdKey, pb.ValueState_CONFIGURED)
	h.await(t, routeKey, pb.ValueState_CONFIGURED)
	h.await(t, "config/vpp/v2/proxyarp-global", pb.ValueState_CONFIGURED)
	h.await(t, "config/vpp/l2/v2/fib/bd1/mac/62:89:C6:A3:6D:5C", pb.ValueState_CONFIGURED)
	url := h.HTTP.URL() + "/dump/vpp/v2/"

	type itf struct {
		Interface struct {
			Name        string   `json:"name"`
			Type        int      `json:"type"`
			PhysAddress string   `json:"phys_address"`
			Addresses   []string `json:"ip_addresses"`
		} `json:"interface"`
		Meta struct {
			Index     int    `json:"sw_if_index"`
			Parent    int    `json:"sub_sw_if_index"`
			L2Address []byte `json:"l2_address"`
			Name      string `json:"internal_name"`
			AdminUp   bool   `json:"is_admin_state_up"`
			MTU       [4]int `json:"mtu"`
			Tag       string `json:"tag"`
		} `json:"interface_meta"`
	}
	for path, want := range map[string]int{"interfaces": 3, "interfaces/loopback": 3, "interfaces/tap": 0} {
		var got map[string]itf
		if status := fetch(t, url+path, &got); status != http.StatusOK || len(got) != want {
			t.Errorf("%s: %d, %+v", path, status, got)
			continue
		}
		if want == 0 {
			continue
		}
		loop := got["1"]
		if loop.Interface.Name != "loop1" {
			loop = got["2"]
		}
		if loop.Interface.Name != "loop1" || loop.Interface.Type != 2 || loop.Interface.Addresses[0] != "10.1.0.1/24" ||
			loop.Meta.Parent != loop.Meta.Index || string(loop.Meta.L2Address) != "\x02\x00\x00\x00\x00\x01" || !loop.Meta.AdminUp || loop.Meta.MTU[0] == 0 {
			t.Errorf("%s: %+v", path, loop)
		}
	}
	var bds []struct {
		BridgeDomain struct{ Name string } `json:"bridge_domain"`
		Meta         struct {
			ID int `json:"bridge_domain_id"`
		} `json:"bridge_domain_meta"`
	}
	fetch(t, url+"bd", &bds)
	if len(bds) != 1 || bds[0].BridgeDomain.Name != "bd1" || bds[0].Meta.ID == 0 {
		t.Errorf("bridge domains: %+v", bds)
	}
	var fibs map[string]struct {
		FIB struct {
			Domain string `json:"bridge_domain"`
		} `json:"fib"`
		Meta struct {
			Domain int `json:"bridge_domain_id"`
		} `json:"fib_meta"`
	}
	fetch(t, url+"fib", &fibs)
	if fib := fibs["62:89:C6:A3:6D:5C"]; fib.FIB.Domain != "bd1" || fib.Meta.Domain != bds[0].Meta.ID {
		t.Errorf("FIB entries: %+v", fibs)
	}
	var xcs map[string]any
	if status := fetch(t, url+"xc", &xcs); status != http.StatusOK || len(xcs) > 0 {
		t.Errorf("cross connects: %d %v", status, xcs)
	}
	var global map[string]any
	if status := fetch(t, url+"nat/global", &global); status != http.StatusOK {
		t.Errorf("NAT44: %d %v", status, global)
	}
	for path, want := range map[string]struct {
		name, field, value string
		least              int
	}{
		"routes":              {"Route", "dst_network", "10.3.0.0/24", 2},
		"arps":                {"Arp", "ip_address", "10.1.0.9", 1},
		"proxyarp/interfaces": {"Interface", "name", "loop1", 1},
		"proxyarp/ranges":     {"Range", "last_ip_addr", "10.1.0.30", 1},
		"vrrps":               {least: 0},
		"acl/ip":              {least: 0},
		"acl/macip":           {least: 0},
		"abf":                 {least: 0},
		"nat/dnat":            {least: 0},
		"nat/interfaces":      {least: 0},
		"nat/pools":           {least: 0},
		"ipsec/spds":          {least: 0},
		"ipsec/sps":           {least: 0},
		"ipsec/sas":           {least: 0},
		"punt/sockets":        {least: 0},
	} {
		var got []map[string]map[string]any
		if status := fetch(t, url+path, &got); status != http.StatusOK || len(got) < want.least {
			t.Errorf("%s: %d, %v", path, status, got)
		}
		found := want.least == 0
		for _, it := range got {
			if it[want.name][want.field] == want.value {
				found = true
				if index, ok := it["Meta"]["SwIfIndex"]; path == "arps" && (!ok || index == 0.0) {
					t.Errorf("%s: no index of the interface in %v", path, it)
				}
			}
		}
		if !found {
			t.Errorf("%s: %v has no %s %s", path, got, want.field, want.value)
		}
	}
	var refusal struct{ Error string }
	if status := fetch(t, url+"interfaces/tapp", &refusal); status != http.StatusNotFound || refusal.Error == "" {
		t.Errorf("an unknown type: %d %+v", status, refusal)
	}
	if status := fetch(t, h.HTTP.URL()+"/dump/linux/v2/interfaces", &refusal); status != http.StatusNotFound {
		t.Errorf("without the plugins of Linux: %d", status)
	}
	var schema map[string]any
	if status := fetch(t, h.HTTP.URL()+"/info/configuration/jsonschema?fieldnames=onlyjson", &schema); status != http.StatusOK || schema["$schema"] == nil {
		t.Errorf("the schema: %d", status)
	}
	if status := fetch(t, h.HTTP.URL()+"/info/configuration/jsonschema?fieldnames=x", &refusal); status != http.StatusBadRequest {
		t.Errorf("the schema with other names: %d", status)
	}
}

func TestDumpsWithoutVPP(t *testing.T) {
	t.Parallel()
	h := newHouse(t, network)
	h.vpp(t, "binapi-socket-path: "+h.dir+"/none.sock\n")
	h.start(t)
	var refusal struct{ Error string }
	if status := fetch(t, h.HTTP.URL()+"/dump/vpp/v2/interfaces", &refusal); status != http.StatusServiceUnavailable {
		t.Errorf("got %d %+v", status, refusal)
	}
}

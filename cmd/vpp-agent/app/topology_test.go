package app_test

import (
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/topology/response"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

var update = flag.Bool("update", false, "write the picture of the network into testdata")

// The picture has every kind of node and link, and says what waits, is down or missing.
func TestTopology(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/topology.yaml")
	infratest.Fatal(t, err)
	h := newHouse(t, string(text), "--simulate=all")
	h.write(t, "linux-nsplugin.conf", "")
	h.start(t)
	for _, link := range []string{"red/link-state/UP", "memif1/link-state/DOWN", "a name with/slashes and \"quotes\" é/link-state/UP"} {
		h.await(t, "vpp/interface/"+link, pb.ValueState_OBTAINED)
	}
	const golden = "testdata/topology.json"
	if *update {
		infratest.Fatal(t, os.WriteFile(golden, []byte(h.topology(t)), 0o644))
	}
	want, err := os.ReadFile(golden)
	infratest.Fatal(t, err)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for got := ""; got != string(want); got = h.topology(t) {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("the topology is\n%s\nexpected the content of %s (-update writes it)", got, golden)
		}
	}

	h.namesItems(t)
	h.plansInto(t)
	var part response.Network
	query := url.Values{"item": {"vpp.l2.bridge-domain/bd1"}}
	if status := fetch(t, h.HTTP.URL()+"/topology?"+query.Encode(), &part); status != http.StatusOK || part.Total != 1 || len(part.Nodes) < 5 {
		t.Errorf("one bridge domain: %d, %+v", status, part)
	}
	for query, status := range map[string]int{"item=vpp.interfaces/none": http.StatusNotFound, "limit=few": http.StatusBadRequest} {
		var refused struct{ Error string }
		if got := fetch(t, h.HTTP.URL()+"/topology?"+query, &refused); got != status || !strings.Contains(refused.Error, "parameter") {
			t.Errorf("%s: %d %q, expected %d", query, got, refused.Error, status)
		}
	}
}

// topology returns the picture of the network as text.
func (h *house) topology(t *testing.T) string {
	t.Helper()
	var n response.Network
	if status := fetch(t, h.HTTP.URL()+"/topology", &n); status != http.StatusOK {
		t.Fatal(status)
	}
	text, err := json.MarshalIndent(n, "", "  ")
	infratest.Fatal(t, err)
	return string(text) + "\n"
}

// namesItems checks that the ID of a node with items is MODEL/NAME of one of them, which agentctl
// get accepts, and the ends of links are IDs of nodes.
func (h *house) namesItems(t *testing.T) {
	t.Helper()
	var n response.Network
	if status := fetch(t, h.HTTP.URL()+"/topology", &n); status != http.StatusOK {
		t.Fatal(status)
	}
	known := map[string]bool{}
	for _, node := range n.Nodes {
		known[node.ID] = true
		if len(node.Items) == 0 {
			continue
		}
		model, name, _ := strings.Cut(node.ID, "/")
		m, ok := h.Orchestrator.Codec.Models().ForName(model)
		if !ok {
			t.Errorf("%s: no model", node.ID)
			continue
		}
		if key := m.KeyPrefix() + name; !slices.ContainsFunc(node.Items, func(i response.Item) bool { return i.Key == key && i.Name == node.ID }) {
			t.Errorf("%s: it is the name of none of the items %v", node.ID, node.Items)
		}
	}
	for _, l := range n.Links {
		if !known[l.From] || !known[l.To] {
			t.Errorf("link from %s to %s: no such node", l.From, l.To)
		}
	}
}

// plansInto checks that a plan is drawn into the picture: what appears, what changes and what goes.
func (h *house) plansInto(t *testing.T) {
	t.Helper()
	h.send(t, http.MethodPut, "/configuration?wait=5m", "vppConfig:\n  interfaces:\n  - {name: old, type: TAP, enabled: true, vrf: 7, ipAddresses: [10.50.0.1/24], tap: {version: 2, hostIfName: old-host}}\n", http.StatusOK)
	var n response.Network
	text := h.send(t, http.MethodPost, "/topology?replace=true", "vppConfig:\n  interfaces:\n  - {name: missing0, type: SOFTWARE_LOOPBACK, enabled: true, vrf: 9, ipAddresses: [10.51.0.1/24]}\n  - {name: loop3, type: SOFTWARE_LOOPBACK, enabled: true}\n", http.StatusOK)
	infratest.Fatal(t, json.Unmarshal([]byte(text), &n))
	got := map[string]string{}
	for _, node := range n.Nodes {
		if node.Change != "" {
			got[node.Label] = node.Change + " " + node.State
		}
	}
	for _, l := range n.Links {
		if l.Change != "" {
			got[l.From+" "+l.Kind] = l.Change
		}
	}
	want := map[string]string{
		"missing0": "appears waiting", "vpp.interfaces/missing0 vrf": "appears", "VRF 9": "appears missing", "loop3": "changes up",
		"old": "goes up", "vpp.interfaces/old vrf": "goes", "old-host": "goes up", "linux old-host cable": "goes",
	}
	if !maps.Equal(got, want) {
		t.Errorf("a plan in the picture: %v, expected %v", got, want)
	}
	if text := h.send(t, http.MethodPost, "/topology", "vppConfig: {interfaces: [{name: x, mtuu: 1}]}", http.StatusBadRequest); !strings.Contains(text, "mtuu") {
		t.Errorf("an invalid configuration: %s", text)
	}
}

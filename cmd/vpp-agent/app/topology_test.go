package app_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/url"
	"os"
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
			t.Fatalf("the picture is\n%s\nexpected that of %s (-update writes it)", got, golden)
		}
	}

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

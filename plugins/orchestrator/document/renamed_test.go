package document_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// TestKeysOfThePredecessor checks that items are read under the keys of their values, whatever
// keys they have in the text, also in long lists.
func TestKeysOfThePredecessor(t *testing.T) {
	t.Parallel()
	c := document.New(allmodels.MustSet())
	const route = `{"dst_network":"10.1.0.0/16","next_hop_addr":"10.0.0.1","outgoing_interface":"a"}`
	const routeKey, other = "config/vpp/v2/route/if/a/vrf/0/dst/10.1.0.0/16/gw/10.0.0.1", "config/vpp/v2/route/vrf/0/dst/10.1.0.0/16/gw/10.0.0.1"
	entry := func(key, value string) string { return fmt.Sprintf("- {key: %s, value: %s}\n", key, value) }
	long := strings.Builder{}
	for i := range 20_000 {
		long.WriteString(entry(fmt.Sprintf("config/vpp/v2/interfaces/i%d", i), fmt.Sprintf(`{"name":"i%d"}`, i)))
	}
	for name, test := range map[string]struct {
		text  string
		items int
		first string // key and written key
	}{
		"route":     {entry(other, route), 1, routeKey + " " + other},
		"singleton": {entry("config/vpp/v2/proxyarp-global/settings", "{}"), 1, "config/vpp/v2/proxyarp-global config/vpp/v2/proxyarp-global/settings"},
		"both":      {entry(routeKey, route) + entry(other, route), 1, routeKey + " "},
		"both back": {entry(other, route) + entry(routeKey, route), 1, routeKey + " "},
		"two":       {entry(other, route) + entry("config/vpp/v2/route/x", route), 1, routeKey + " " + other},
		"long":      {long.String() + entry(other, route), 20_001, "config/vpp/v2/interfaces/i0 "},
	} {
		doc := c.Decode("f.yaml", []byte("data:\n"+test.text), "")
		if len(doc.Errs) > 0 || len(doc.Items) != test.items {
			t.Errorf("%s: %d items, %v", name, len(doc.Items), doc.Errs)
			continue
		}
		if got := doc.Items[0].Key + " " + doc.Items[0].Written; got != test.first {
			t.Errorf("%s: got %q, want %q", name, got, test.first)
		}
	}
	content := c.Read("f.yaml", []byte("data:\n"+entry(other, route)), "")
	if len(content.Entries) != 1 || content.Entries[0].Key != other {
		t.Errorf("a store sees %v", content.Entries)
	}
}

package document

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
)

// Keys of former releases and keys with a mistake lead to the prefix of a model.
func TestSuggestPrefix(t *testing.T) {
	t.Parallel()
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	codec := New(set)
	for key, want := range map[string]string{
		"vpp/config/v2/nat44/dnat/default/kubernetes": "config/vpp/nat/v2/",
		"vpp/config/v2/ipneigh":                       "config/vpp/v2/ipscanneigh-global",
		"vpp/config/v1/interface/tap1":                "config/vpp/v2/interfaces/",
		"vpp/config/v2/bd/bd1":                        "config/vpp/l2/v2/bridge-domain/",
		"vpp/config/v1/bd/bd1/fib/02:00:00:00:00:01":  "config/vpp/l2/v2/fib/",
		"linux/config/v2/route/r1":                    "config/linux/l3/v2/route/",
		"config/vpp/v2/interface/tap1":                "config/vpp/v2/interfaces/",
		"config/linux/l3/v2/routes/r1":                "config/linux/l3/v2/route/",
		"vpp/config/v2/unheard-of/x":                  "",
		"myapp/settings":                              "",
		"":                                            "",
	} {
		if got := codec.SuggestPrefix(key); got != want {
			t.Errorf("%q: suggests %q, expected %q", key, got, want)
		}
	}
}

// TestLegacyPrefixesExist: every prefix that former keys lead to is the prefix
// of a model, or of several.
func TestLegacyPrefixesExist(t *testing.T) {
	t.Parallel()
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	for former, prefix := range legacyPrefixes() {
		if !slices.ContainsFunc(set.All(), func(m models.Known) bool { return strings.HasPrefix(m.KeyPrefix(), prefix) }) {
			t.Errorf("%s: no model has the prefix %s", former, prefix)
		}
	}
}

package item

import (
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/models"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	dns "github.com/tenuto-dev/tenuto/proto/ligato/vpp/dns"
)

// Of several entries that are values with the same key the expected one is reported.
func TestOneValueOfEachKey(t *testing.T) {
	t.Parallel()
	type entry struct{ key, detail string }
	server := func(e entry) *dns.DNSCache { return &dns.DNSCache{UpstreamDnsServers: []string{e.key, e.detail}} }
	tr := &translation[*dns.DNSCache, entry, entry]{
		model: models.New(models.Spec{Module: "vpp", Version: "v1", Type: "test"}, func(v *dns.DNSCache) string { return v.GetUpstreamDnsServers()[0] }),
		Resolution: Resolution[*dns.DNSCache, entry]{Resolve: func(_ *Resolver, v *dns.DNSCache) entry {
			return entry{v.GetUpstreamDnsServers()[0], v.GetUpstreamDnsServers()[1]}
		}},
		id:    func(e entry) entry { return e },
		value: func(_ *Names, e entry) *dns.DNSCache { return server(e) },
	}
	mine := entry{"a", "mine"}
	expected := map[entry]wanted[*dns.DNSCache, entry]{}
	tr.expect(expected, tr.model.Key(server(mine)), server(mine))
	var got []string
	err := tr.recognized(t.Context(), []entry{{"a", "other"}, mine, {"b", "1"}, {"b", "2"}}, expected,
		func(_ int, _ string, v *dns.DNSCache, _ kvs.ValueOrigin) {
			got = append(got, v.GetUpstreamDnsServers()...)
		})
	if want := []string{"a", "mine", "b", "1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, expected %q", got, err, want)
	}
}

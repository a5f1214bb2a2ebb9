package item

import (
	"context"
	"strings"
	"testing"

	"go.fd.io/govpp/binapi/ip_types"
	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noInterfaces knows none.
type noInterfaces struct{}

func (noInterfaces) LookupByName(string) (*ifaceidx.IfMeta, bool) { return nil, false }

func (noInterfaces) LookupBySwIfIndex(uint32) (string, *ifaceidx.IfMeta, bool) { return "", nil, false }

func (noInterfaces) Snapshot(context.Context) *ifaceidx.Snapshot { return nil }

// Every bad field has an error with its name and the expected value.
func TestResolverErrors(t *testing.T) {
	t.Parallel()
	for want, resolve := range map[string]func(*Resolver){
		"interface: empty, expected the name of an interface":  func(r *Resolver) { r.Interface("interface", "") },
		"addr: \"x\": expected an IP address":                  func(r *Resolver) { r.Addr("addr", "x") },
		"peer: \"1.2.3\": expected an IP address":              func(r *Resolver) { r.Host("peer", "1.2.3") },
		"peer: 224.0.0.1, expected the address of one host":    func(r *Resolver) { r.Host("peer", "224.0.0.1") },
		"peer: ::, expected the address of one host":           func(r *Resolver) { r.Host("peer", "::") },
		"net: \"10.0.0.1/24\" has host bits, expected 10.0.0.": func(r *Resolver) { r.Network("net", "10.0.0.1/24") },
		"net: \"10.0.0.0\": expected an IP address with":       func(r *Resolver) { r.Network("net", "10.0.0.0") },
		"mac: \"02:00\": expected a MAC address":               func(r *Resolver) { r.MAC("mac", "02:00") },
		"port: 70000, expected 0 to 65535":                     func(r *Resolver) { r.Range("port", 70000, 0, 65535) },
		"name: empty, expected a label":                        func(r *Resolver) { r.NotEmpty("name", "", "a label") },
	} {
		r := &Resolver{}
		resolve(r)
		if len(r.errs) != 1 || !strings.Contains(r.errs[0].Error(), want) {
			t.Errorf("errors %v, expected %q", r.errs, want)
		}
	}
	live := &Resolver{vpp: true, ifs: noInterfaces{}}
	live.Interface("interface", "lo")
	if want := `interface "lo" is not known to exist in VPP`; len(live.errs) != 1 || live.errs[0].Error() != want {
		t.Errorf("errors %v, expected %q", live.errs, want)
	}
}

// Equal names have equal numbers, without VPP, and each name is a dependency.
func TestResolverNames(t *testing.T) {
	t.Parallel()
	r := &Resolver{waits: true}
	a, b, again := r.Interface("in", "a"), r.Interface("out", "b"), r.SwIfIndex("a")
	if a == b || a != again {
		t.Errorf("a is %d, b is %d, a again %d", a, b, again)
	}
	if n := r.Number("bridge domain", "a", nil); n == uint32(a) || n == uint32(b) {
		t.Errorf("a bridge domain has the number %d of an interface", n)
	}
	r.Table(0, ip_types.Address{})
	r.Table(7, r.Addr("addr", "2001:db8::1"))
	var got []string
	for _, d := range r.deps {
		got = append(got, d.Label+" "+d.Key)
	}
	want := "interface-exists config/vpp/v2/interfaces/a, out-exists config/vpp/v2/interfaces/b, " +
		"vrf-table-exists config/vpp/v2/vrf-table/id/7/protocol/IPV6"
	if strings.Join(got, ", ") != want || len(r.errs) > 0 {
		t.Errorf("dependencies %q, errors %v", got, r.errs)
	}
}

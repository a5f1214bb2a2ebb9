package descriptor

import (
	"fmt"
	"testing"

	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// Routes are found by what they are, also if the hashes of all are the same; of two that are
// the same the first one is.
func TestRouteIndex(t *testing.T) {
	t.Parallel()
	var list []routeKV
	for i := range 4 {
		list = append(list, routeKV{Key: fmt.Sprint(i), Value: &l3.Route{DstNetwork: fmt.Sprintf("10.%d.0.0/16", i%3), NextHopAddr: "192.0.2.1"}})
	}
	list = append(list, routeKV{Key: "invalid", Value: &l3.Route{DstNetwork: "ten"}})
	for name, hash := range map[string]func(routeID) uint64{
		"hashes differ":     func(id routeID) uint64 { return uint64(id.dst.Addr().As4()[1]) },
		"hashes do not":     func(routeID) uint64 { return 1 },
		"hashes of some do": func(id routeID) uint64 { return uint64(id.dst.Addr().As4()[1] / 2) },
	} {
		x := newRouteIndex(list, hash)
		for i, kv := range list[:3] {
			id, err := idOf(kv.Value)
			if err != nil {
				t.Fatal(err)
			}
			if found, ok := x.find(id); !ok || found.Key != list[i].Key {
				t.Errorf("%s: %s is found as %q (%v)", name, kv.Value, found.Key, ok)
			}
		}
		id, _ := idOf(&l3.Route{DstNetwork: "10.1.0.0/17", NextHopAddr: "192.0.2.1"})
		if found, ok := x.find(id); ok {
			t.Errorf("%s: a route that is not in the list is found as %s", name, found.Key)
		}
	}
}

package vppcalls

import (
	"net/netip"
	"slices"
	"testing"
)

// The paths of a destination go in one message, as many as a message can carry.
func TestByDestination(t *testing.T) {
	t.Parallel()
	route := func(table uint32, dst string) Route {
		return Route{Table: table, Destination: netip.MustParsePrefix(dst)}
	}
	routes := []Route{
		route(0, "10.0.0.0/24"), route(1, "10.0.0.0/24"), route(0, "10.0.0.0/25"), route(0, "10.0.0.0/24"), route(1, "10.0.0.0/24"),
	}
	if got, want := byDestination(routes), [][]int{{0, 3}, {1, 4}, {2}}; !slices.EqualFunc(got, want, slices.Equal[[]int]) {
		t.Errorf("groups %v, expected %v", got, want)
	}
	groups := byDestination(slices.Repeat(routes[:1], 2*maxPaths+1))
	if len(groups) != 3 || len(groups[0]) != maxPaths || len(groups[1]) != maxPaths || len(groups[2]) != 1 {
		t.Errorf("%d groups of %d paths", len(groups), 2*maxPaths+1)
	}
}

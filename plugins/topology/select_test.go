package topology

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/topology/response"
)

// The models of the table are models of the agent.
func TestTableNamesModels(t *testing.T) {
	t.Parallel()
	set := allmodels.MustSet()
	for _, list := range [][]modelKind{nodeModels, linkModels} {
		for _, m := range list {
			if _, ok := set.ForName(m.model); !ok {
				t.Errorf("model %s: unknown", m.model)
			}
		}
	}
}

// large returns a network with bridge domains of 20 interfaces each, which have a cable to a namespace of
// their own; every tenth interface is down.
func large(domains int) response.Network {
	n := response.Network{Boxes: []response.Box{{ID: "vpp", Kind: response.BoxVPP, Label: "VPP"}}}
	for d := range domains {
		hub := fmt.Sprintf("vpp.l2.bridge-domain/bd%d", d)
		box := fmt.Sprintf("linux/NSID/ns%d", d)
		n.Boxes = append(n.Boxes, response.Box{ID: box, Kind: response.BoxNamespace, Label: box})
		n.Nodes = append(n.Nodes, response.Node{ID: hub, Kind: response.BridgeDomain, Label: hub, Box: "vpp", State: response.Up})
		for i := range 20 {
			state := response.Up
			if i%10 == 9 {
				state = response.Down
			}
			vpp, host := fmt.Sprintf("vpp.interfaces/i%d.%d", d, i), fmt.Sprintf("linux.interfaces.interface/i%d.%d", d, i)
			n.Nodes = append(n.Nodes,
				response.Node{ID: vpp, Kind: response.Interface, Label: vpp, Box: "vpp", State: state, Addresses: []string{fmt.Sprintf("10.%d.%d.1/24", d, i)}},
				response.Node{ID: host, Kind: response.Interface, Label: host, Box: box, State: response.Up})
			n.Links = append(n.Links, response.Link{From: vpp, To: hub, Kind: response.Member, State: state}, response.Link{From: host, To: vpp, Kind: response.Cable, State: state})
		}
	}
	n.Total = len(n.Nodes)
	sortNetwork(&n)
	return n
}

// count returns the number of interfaces that a picture stands for, in nodes and in groups.
func count(n response.Network) (total int) {
	for _, node := range n.Nodes {
		if node.Kind == response.Interface {
			total += max(1, node.Count)
		}
	}
	return total
}

// A picture has no more nodes than the limit, and its groups stand for all nodes that were left out.
func TestGroups(t *testing.T) {
	t.Parallel()
	for domains, grouped := range map[int]bool{1: false, 5: true, 50: true, 200: true} {
		n := large(domains)
		got, err := choose(n, selection{limit: 60})
		if err != nil || len(got.Nodes) > 60 || got.Grouped != grouped || count(got) != 40*domains || got.Total != n.Total {
			t.Errorf("%d domains: %d nodes for %d interfaces, grouped %t, of %d: %v", domains, len(got.Nodes), count(got), got.Grouped, got.Total, err)
		}
		shown := map[string]bool{}
		for _, node := range got.Nodes {
			shown[node.ID] = true
			if node.Count > 0 && node.Box == "vpp" && node.Kind == response.Interface && node.States[response.Down]*10 != node.Count {
				t.Errorf("%d domains: the states of the group are %v of %d", domains, node.States, node.Count)
			}
		}
		for _, l := range got.Links {
			if !shown[l.From] || !shown[l.To] {
				t.Errorf("%d domains: a link between %s and %s, which are not shown", domains, l.From, l.To)
			}
		}
	}
}

// The first grouping keeps bridge domains as nodes, and joins their members and the cables of those.
func TestGroupsOfBridgeDomains(t *testing.T) {
	t.Parallel()
	got, err := choose(large(5), selection{limit: 60})
	if err != nil {
		t.Fatal(err)
	}
	hubs, groups := 0, 0
	for _, node := range got.Nodes {
		switch {
		case node.Kind == response.BridgeDomain:
			hubs++
		case node.Count == 20:
			groups++
		}
	}
	if hubs != 5 || groups != 10 {
		t.Errorf("%d bridge domains and %d groups, expected 5 and 10: %+v", hubs, groups, got.Nodes)
	}
	for _, l := range got.Links {
		if l.Count != 20 || l.State != response.Down {
			t.Errorf("a link between groups: %+v, expected 20 in the worst state", l)
		}
	}
}

// One bridge domain is shown with its members and what is behind them; of very many members those in the worst
// state are nodes.
func TestOneBridgeDomain(t *testing.T) {
	t.Parallel()
	n := large(50)
	got, err := choose(n, selection{item: "vpp.l2.bridge-domain/bd7", limit: 60})
	if err != nil || len(got.Nodes) != 41 || got.Grouped || len(got.Boxes) != 2 {
		t.Errorf("%d nodes in %d boxes, grouped %t: %v", len(got.Nodes), len(got.Boxes), got.Grouped, err)
	}
	got, err = choose(n, selection{item: "vpp.l2.bridge-domain/bd7", limit: 10})
	if err != nil || len(got.Nodes) > 10 || !got.Grouped || count(got) != 40 {
		t.Errorf("%d nodes for %d interfaces: %v", len(got.Nodes), count(got), err)
	}
	down := 0
	for _, node := range got.Nodes {
		if node.State == response.Down && node.Count == 0 {
			down++
		}
	}
	if down != 2 {
		t.Errorf("%d interfaces that are down are nodes, expected 2", down)
	}
	for _, limit := range []int{1, 2, 3} { // smaller than what a picture needs
		if _, err := choose(n, selection{item: "vpp.l2.bridge-domain/bd7", limit: limit}); err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

func TestContains(t *testing.T) {
	t.Parallel()
	n := large(50)
	for text, want := range map[string]int{"10.7.3.": 1, "BD7": 1, "nothing": 0} {
		got, err := choose(n, selection{contains: text})
		if err != nil || got.Total != want {
			t.Errorf("%s: %d nodes, expected %d: %v", text, got.Total, want, err)
		}
		for _, node := range got.Nodes {
			if node.Neighbour == hasText(node, "bd7") && text == "BD7" {
				t.Errorf("%s: %s is a neighbour: %t", text, node.ID, node.Neighbour)
			}
		}
	}
	if _, err := choose(n, selection{item: "nothing/like-it"}); !errors.As(err, &errNoNode{}) || strings.Contains(err.Error(), "did you mean") {
		t.Errorf("an unknown item: %v", err)
	}
	small := response.Network{Nodes: []response.Node{
		{ID: "a", Label: "wan.20", Items: []response.Item{{Name: "vpp.interfaces/wan.20"}}}, {ID: "b", Label: "wan", Items: []response.Item{{Name: "vpp.interfaces/wan"}}},
		{ID: "c", Label: "lan", Items: []response.Item{{Name: "vpp.interfaces/lan"}}}, {ID: "d", Label: "lan", Items: []response.Item{{Name: "vpp.l2.bridge-domain/lan"}}},
	}}
	for item, want := range map[string]string{"wan20": "did you mean vpp.interfaces/wan.20?", "vpp.interfaces/wann": "did you mean vpp.interfaces/wan?", "lan": "did you mean"} {
		if _, err := choose(small, selection{item: item}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %s", item, err, want)
		}
	}
	if got, err := choose(small, selection{item: "wan"}); err != nil || len(got.Nodes) != 1 {
		t.Errorf("the label of one node: %v, %v", got.Nodes, err)
	}
}

// The nodes of a kind, or of a box, are shown in the worst state first; their neighbours only if there is room.
func TestKindsAndBoxes(t *testing.T) {
	t.Parallel()
	n := large(100)
	got, err := choose(n, selection{kind: response.BridgeDomain, limit: 60})
	if err != nil || got.Total != 100 || len(got.Nodes) > 60 || count(got) != 0 {
		t.Errorf("bridge domains: %d of %d, %d interfaces: %v", len(got.Nodes), got.Total, count(got), err)
	}
	got, err = choose(n, selection{kind: response.Interface, box: "linux/NSID/ns7", limit: 60})
	if err != nil || got.Total != 20 || len(got.Nodes) != 40 {
		t.Errorf("one namespace: %d of %d: %v", len(got.Nodes), got.Total, err)
	}
	got, err = choose(n, selection{box: namespaces, kind: response.Interface, limit: 60})
	if err != nil || got.Total != 2000 || count(got) != 2000 {
		t.Errorf("all namespaces: %d of %d: %v", count(got), got.Total, err)
	}
}

// Equal networks have equal pictures.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, s := range []selection{{limit: 60}, {limit: 5}, {item: "vpp.l2.bridge-domain/bd7", limit: 10}} {
		first, _ := choose(large(20), s)
		for range 5 {
			if again, _ := choose(large(20), s); !reflect.DeepEqual(first, again) {
				t.Errorf("%+v: two pictures of the same network differ", s)
			}
		}
	}
}

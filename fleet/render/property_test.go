package render_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/render"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// network has a mesh of the agents with the role edge, and pools of all types.
const network = `kind: Pool
metadata: {name: loopbacks}
spec: {type: ipv4, ranges: [10.0.0.8-10.0.0.11, 10.0.0.0/29, 10.0.1.0/24], exclude: [10.0.0.2]}
---
kind: Pool
metadata: {name: networks}
spec: {type: prefix, ranges: [10.8.0.0/16], prefixLength: 28, exclude: [10.8.0.20]}
---
kind: Pool
metadata: {name: vlans}
spec: {type: integer, ranges: [100-199], exclude: ['105']}
---
kind: NetworkConfig
metadata: {name: base}
spec:
  selector: {}
  template:
    vppConfig:
      interfaces:
      - {name: loop0, type: SOFTWARE_LOOPBACK, mtu: "${pool.vlans}", ipAddresses: ["${pool.networks}"]}
---
kind: NetworkConfig
metadata: {name: mesh}
spec:
  selector: {matchLabels: {role: edge}}
  variables: {vtep: {type: address, pool: loopbacks}}
  forEach: {peers: {matchLabels: {role: edge}}}
  template:
    vppConfig:
      interfaces:
      - name: vx-${peer.label}
        type: VXLAN_TUNNEL
        vxlan: {srcAddress: "${agent.values.vtep}", dstAddress: "${peer.values.vtep}", vni: 10}
`

// edges makes agents with the role edge. own has the addresses of agents that do not get one from the pool.
func edges(names []string, own map[string]string) (agents []fleet.Agent) {
	for _, name := range names {
		a := fleet.Agent{Metadata: fleet.Metadata{Name: name, Labels: map[string]string{"role": "edge"}}}
		if address := own[name]; address != "" {
			a.Spec.Values = map[string]any{"vtep": address}
		}
		agents = append(agents, a)
	}
	return agents
}

// The result does not depend on the order of the objects. Agents keep their values when others are added and
// removed, and no two have the same.
func TestAllocationsAreStable(t *testing.T) {
	t.Parallel()
	objects, c := objectsOf(t, network), codec()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-f][0-9]?`), 1, 10, rapid.ID).Draw(t, "agents")
		own := map[string]string{}
		for i, name := range names {
			if rapid.IntRange(0, 4).Draw(t, "own value") == 0 {
				own[name] = fmt.Sprintf("10.0.0.%d", 3+i)
			}
		}
		half := names[:len(names)/2]
		in := render.Input{Objects: objects, Codec: c}
		in.Agents = edges(half, own)
		for _, name := range names { // also those that come later
			if _, later := own[name]; later && !slices.Contains(half, name) {
				in.Agents = append(in.Agents, edges([]string{name}, own)...)
			}
		}
		before := render.Render(in)
		if len(before.Errs) > 0 {
			t.Fatal(before.Errs[0])
		}
		in.Allocations = before.Allocations()
		in.Agents = edges(names, own)
		want := results(t, in)

		seed := rapid.Uint64().Draw(t, "order")
		other := in
		other.Agents, other.NetworkConfigs, other.Pools = shuffled(seed, in.Agents), shuffled(seed, in.NetworkConfigs), shuffled(seed, in.Pools)
		if got := results(t, other); got != want {
			t.Fatalf("in another order:\n%s\nexpected\n%s", got, want)
		}
		after := render.Render(in).Allocations()
		for pool, agents := range in.Allocations {
			for agent, value := range agents {
				if after[pool][agent] != value {
					t.Fatalf("%s has %s of pool %s, expected %s as before", agent, after[pool][agent], pool, value)
				}
			}
		}
		for pool, agents := range after {
			values := slices.Sorted(maps.Values(agents))
			if len(slices.Compact(slices.Clone(values))) != len(values) {
				t.Fatalf("pool %s: %v", pool, agents)
			}
			for agent, value := range agents {
				if other, taken := agents[""], slices.Contains(slices.Collect(maps.Values(own)), value); taken && pool == "loopbacks" {
					t.Fatalf("%s got %s, which another agent has (%s)", agent, value, other)
				}
				if slices.Contains([]string{"10.0.0.2", "10.8.0.16/28", "105"}, value) {
					t.Fatalf("%s got %s, which is excluded", agent, value)
				}
			}
		}
	})
}

func shuffled[T any](seed uint64, list []T) []T {
	list = slices.Clone(list)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// results is the text of everything that is rendered.
func results(t *rapid.T, in render.Input) string {
	var b strings.Builder
	r := render.Render(in)
	for _, e := range r.Errs {
		t.Fatal(e)
	}
	for result := range r.Agents() {
		for _, e := range result.Errs {
			t.Fatal(e)
		}
		fmt.Fprintln(&b, result.Agent.Metadata.Name)
		for _, it := range result.Items {
			fmt.Fprintln(&b, it.Config, it.Key, it.Value)
		}
	}
	fmt.Fprintln(&b, r.Warnings, r.New)
	return b.String()
}

// Selected agents are rendered as with all others.
func TestSelected(t *testing.T) {
	t.Parallel()
	in := render.Input{Objects: objectsOf(t, network), Codec: codec()}
	in.Agents = edges([]string{"a", "b", "c"}, nil)
	all := show(t, in)
	in.Selected = func(a *fleet.Agent) bool { return a.Metadata.Name == "b" }
	got, _, _ := strings.Cut(show(t, in), "NEW")
	if !strings.HasPrefix(got, "# b\n") || !strings.Contains(all, got) {
		t.Errorf("got\n%s\nexpected a part of\n%s", got, all)
	}
	for range render.Render(in).Agents() {
		break // the caller may stop
	}
}

// A thousand agents in sites of twenty have a mesh of 19 tunnels each.
func BenchmarkMesh(b *testing.B) {
	const sites, size = 50, 20
	objects := objectsOf(b, network)
	for s := range sites {
		config := objects.NetworkConfigs[1]
		config.Metadata.Name = fmt.Sprintf("mesh-%d", s)
		site := fleet.Selector{MatchLabels: map[string]string{"site": fmt.Sprint(s)}}
		config.Spec.Selector, config.Spec.ForEach = site, &fleet.ForEach{Peers: site}
		objects.NetworkConfigs = append(objects.NetworkConfigs, config)
		for i := range size {
			objects.Agents = append(objects.Agents, fleet.Agent{Metadata: fleet.Metadata{Name: fmt.Sprintf("edge-%d-%d", s, i), Labels: map[string]string{"site": fmt.Sprint(s)}}})
		}
	}
	objects.Pools[0].Spec.Ranges, objects.Pools[0].Spec.Exclude = []string{"10.0.0.0/16"}, nil
	objects.Pools[2].Spec.Ranges = []string{"100-2000"}
	objects.NetworkConfigs = slices.Delete(objects.NetworkConfigs, 1, 2)
	in := render.Input{Objects: objects, Codec: codec()}
	b.ReportAllocs()
	for b.Loop() {
		items := 0
		r := render.Render(in)
		for result := range r.Agents() {
			if len(result.Errs) > 0 {
				b.Fatal(result.Errs[0])
			}
			items += len(result.Items)
		}
		if len(r.Errs) > 0 {
			b.Fatal(r.Errs[0])
		}
		if items != sites*size*size {
			b.Fatalf("%d items", items)
		}
	}
}

// FuzzReference: a string in a template is rendered or refused, whatever it is; without a reference it stays as it is.
func FuzzReference(f *testing.F) {
	for _, text := range []string{"a", "${agent.label}", "x-${agent.values.list[0].a}$${", `${agent.labels["a.b"]}`, "${", "${pool.p}", "${agent.values.list}", "$$${agent.label}"} {
		f.Add(text)
	}
	c := codec()
	f.Fuzz(func(t *testing.T, text string) {
		template, err := document.TreeOf(map[string]any{"data": []any{map[string]any{"key": "config/vpp/v2/interfaces/" + text, "value": map[string]any{"name": text}}}}, document.Position{File: "t", Line: 1})
		if err != nil {
			t.Fatal(err)
		}
		in := render.Input{Codec: c, Objects: fleet.Objects{
			Agents: []fleet.Agent{{
				Metadata: fleet.Metadata{Name: "e", Labels: map[string]string{"a.b": "x"}},
				Spec:     fleet.AgentSpec{Values: map[string]any{"list": []any{map[string]any{"a": int64(1)}}}},
			}},
			NetworkConfigs: []fleet.NetworkConfig{{Metadata: fleet.Metadata{Name: "n"}, Spec: fleet.NetworkConfigSpec{Template: template}}},
			Pools:          []fleet.Pool{{Metadata: fleet.Metadata{Name: "p"}, Spec: fleet.PoolSpec{Type: fleet.PoolInteger, Ranges: []string{"1-9"}}}},
		}}
		r := render.Render(in)
		for result := range r.Agents() {
			if len(result.Errs) == 0 && len(result.Items) == 1 && !strings.Contains(text, "${") && result.Items[0].Key != "config/vpp/v2/interfaces/"+text {
				t.Errorf("%q became %s", text, result.Items[0].Key)
			}
		}
	})
}

package plan_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

var update = flag.Bool("update", false, "rewrite the plans in testdata")

// TestPlans makes the plans of testdata/*.txt. A case is a graph, a request and
// the plan expected of them, in lines that begin with ">":
//
//	is KEY {item}      wanted, and exists
//	want KEY {item}    wanted, does not exist
//	found KEY {item}   exists, not wanted
//	failed KEY         the last operation on the value failed
//	set KEY {item}, del KEY, touch KEY, pin KEY, leaving KEY,
//	closed SOUTHBOUND, notified KEY, all, drop,
//	unread DESCRIPTOR|KEY          the request
//
// Items are in YAML; see model.Item. Values below piece/ are derived, those
// below property/ need no operation, those below link/ can take temporary identities, those below noupdate/ cannot be changed in
// place, and those below remote/ live in the southbound "remote".
func TestPlans(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for i, text := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
			title, _, _ := strings.Cut(text, "\n")
			t.Run(filepath.Base(file)+"/"+strings.TrimPrefix(title, "# "), func(t *testing.T) {
				given, want, _ := strings.Cut(text, "\n>")
				got := given + "\n" + planOf(t, given)
				if !*update && got != given+"\n>"+want+"\n" {
					t.Errorf("got:\n%s\nwant:\n%s\n>%s", got, given, want)
				}
				if i > 0 {
					out.WriteByte('\n')
				}
				out.WriteString(got)
			})
		}
		if *update {
			if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// world is the graph and the request of one case.
type world struct {
	registry *registry.Registry
	graph    *graph.Graph
	request  plan.Request
}

func newWorld(t *testing.T) *world {
	t.Helper()
	sb := kvstest.NewMockSB()
	r, err := registry.New(nil).With([]*api.KVDescriptor{
		sb.Descriptor("tap", "tap/", kvstest.WithMetadata()), sb.Descriptor("route", "route/"), sb.Descriptor("bridge", "bridge/"),
		sb.Descriptor("link", "link/", kvstest.WithVacate()),
		sb.Descriptor("noupdate", "noupdate/", kvstest.WithoutUpdate()),
		sb.Descriptor("remote", "remote/", kvstest.WithSouthbound("remote")),
		sb.Descriptor("piece", "piece/", kvstest.Derived()), sb.Descriptor("property", "property/", kvstest.Property()),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &world{registry: r, graph: graph.New(), request: plan.Request{
		Pinned: map[string]bool{}, Unfinished: map[string]plan.Unfinished{}, Closed: map[string]bool{}, Notified: map[string]bool{},
	}}
}

func planOf(t *testing.T, given string) string {
	t.Helper()
	w := newWorld(t)
	for line := range strings.Lines(given) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			if err := w.execute(line); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
	}
	before := snapshot(w.graph)
	text := format(plan.Make(w.graph, w.request))
	if again := format(plan.Make(w.graph, w.request)); again != text {
		t.Errorf("planned again, the plan is another one:\n%s\nwas:\n%s", again, text)
	}
	if after := snapshot(w.graph); after != before {
		t.Errorf("planning changed the graph:\n%s\nwas:\n%s", after, before)
	}
	return text
}

func (w *world) execute(line string) error {
	command, rest, _ := strings.Cut(line, " ")
	key, text, _ := strings.Cut(rest, " ")
	v, desc, err := w.value(key, text)
	if err != nil {
		return err
	}
	switch command {
	case "is":
		w.node(key, v, v)
	case "want":
		w.node(key, v, nil)
	case "found":
		w.node(key, nil, v)
	case "failed":
		w.graph.Node(key).Err = errors.New("failed")
	case "set":
		if n := w.graph.Node(key); n != nil {
			v = v.Instead(n.Want) // what an invalid value leaves in force
		}
		w.request.Changes = append(w.request.Changes, plan.Change{Key: key, Desc: desc, Want: v})
	case "del":
		w.request.Changes = append(w.request.Changes, plan.Change{Key: key, Desc: desc})
	case "touch":
		w.request.Touch = append(w.request.Touch, key)
	case "pin":
		w.request.Pinned[key] = true
	case "leaving":
		w.request.Pinned[key] = true
		w.request.Unfinished[key] = plan.Unfinished{Leaving: true}
	case "closed":
		w.request.Closed[key] = true
	case "unread":
		u := w.request.Unread
		if u == nil {
			u = &plan.Unread{Registry: w.registry, Descriptors: map[*registry.Descriptor]bool{}, Keys: map[string]bool{}}
			w.request.Unread = u
		}
		if d := w.registry.ByName(key); d != nil {
			u.Descriptors[d] = true
		} else {
			u.Keys[key] = true
		}
	case "notified":
		w.request.Notified[key] = true
	case "all":
		w.request.All = true
	case "drop":
		w.request.DropUnwanted = true
	default:
		return errors.New("unknown command")
	}
	return nil
}

func (w *world) value(key, text string) (*registry.Value, *registry.Descriptor, error) {
	d, err := w.registry.Lookup(key)
	if err != nil {
		return nil, nil, err
	}
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		return nil, nil, err
	}
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, nil, err
	}
	item := &model.Item{}
	if tree != nil {
		err = protojson.Unmarshal(data, item)
	}
	return w.registry.Wanted(key, d, item), d, err
}

// node puts a value with its derived values into the graph.
func (w *world) node(key string, want, have *registry.Value) {
	d, _ := w.registry.Lookup(key) // was found before
	n := w.graph.Ensure(key, d, nil)
	w.graph.SetWant(n, want)
	if have == nil {
		w.graph.Wait(n)
		return
	}
	_ = w.graph.SetHave(n, have, nil, graph.Created) // a new label cannot clash
	for i := range have.Derived {
		dv := &have.Derived[i]
		child := w.graph.Ensure(dv.Key, dv.Desc, n)
		w.graph.SetWant(child, dv.Value)
		_ = w.graph.SetHave(child, dv.Value, nil, graph.Created)
	}
}

// format writes a plan: the operations in order, each with the states before
// and after it and the numbers of the operations that it has to wait for; then
// the gates, if there are any.
func format(p *plan.Plan) string {
	var b strings.Builder
	after := func(preds plan.Preds) {
		for j, pred := range p.Before(preds) {
			b.WriteString([]string{" after ", ","}[min(j, 1)])
			if int(pred) < len(p.Ops) {
				fmt.Fprint(&b, pred+1)
			} else {
				fmt.Fprintf(&b, "gate %d", int(pred)-len(p.Ops)+1)
			}
		}
		b.WriteByte('\n')
	}
	for i := range p.Ops {
		op := &p.Ops[i]
		fmt.Fprintf(&b, "> %d %s %s %s->%s", i+1, [...]string{"note", "adopt", "down", "up", "update"}[op.Kind], op.Key, op.Before, op.After)
		if op.Recreate {
			b.WriteString(" recreate")
		}
		if op.Held != nil {
			b.WriteString(" held by " + op.Held.By)
		}
		after(op.Preds)
	}
	for i := range p.Gates {
		fmt.Fprintf(&b, "> gate %d", i+1)
		after(p.Gates[i].Preds)
	}
	if len(p.Ops) == 0 {
		return "> nothing\n"
	}
	return b.String()
}

func snapshot(g *graph.Graph) string {
	var b strings.Builder
	for n := range g.Nodes {
		fmt.Fprintf(&b, "%s %p %p %v %p\n", n.Key, n.Want, n.Have, n.Err, n.Base)
	}
	return b.String()
}

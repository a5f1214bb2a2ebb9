package gnmi

import (
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/models"
)

// modelsOnly is an orchestrator that has nothing but models.
type modelsOnly struct {
	Orchestrator
	set *models.Set
}

func (m modelsOnly) Models() *models.Set { return m.set }

func testService(t testing.TB) *service {
	t.Helper()
	p := &Plugin{}
	p.Orchestrator = modelsOnly{set: allModels(t)}
	return newService(p)
}

// The paths of items of all models, and of their fields, are read as they are written.
func TestPathsOfAllModels(t *testing.T) {
	t.Parallel()
	s := testService(t)
	for _, m := range s.models {
		item := m.NewInstance()
		for _, f := range m.names {
			text := "1"
			switch f.Kind() {
			case protoreflect.StringKind:
				text = "10.1.0.0/16"
			case protoreflect.BoolKind:
				text = "true"
			case protoreflect.EnumKind:
				text = string(f.Enum().Values().Get(f.Enum().Values().Len() - 1).Name())
			}
			v, err := parseKey(f, text)
			if err != nil {
				t.Fatal(err)
			}
			item.ProtoReflect().Set(f, v)
		}
		key, err := m.KeyOf(item)
		if err != nil {
			t.Fatal(err)
		}
		n := node{tree: s.trees[0], model: m, key: key, item: item}
		sel, wrong := s.parse(nil, n.path(nil), nil)
		if wrong != nil || sel.key != key || sel.model() != m || !sel.has(m, key, item.ProtoReflect()) {
			t.Errorf("%s: %v: %+v, %v", m.name, n.path(nil), sel, wrong)
			continue
		}
		fields := item.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			p := n.path(nil)
			p.Elem = append(p.Elem, &gpb.PathElem{Name: string(fields.Get(i).Name())})
			if sel, wrong := s.parse(&gpb.Path{Elem: p.Elem[:1]}, &gpb.Path{Elem: p.Elem[1:]}, nil); wrong != nil || sel.field() != fields.Get(i) {
				t.Errorf("%v: %+v, %v", p, sel, wrong)
			}
		}
	}
}

// Paths of clients are rejected with the number of an element that is there, or select
// something that is written in the same way.
func FuzzPath(f *testing.F) {
	s := testService(f)
	for _, p := range []*gpb.Path{
		{Elem: []*gpb.PathElem{{Name: "config"}, {Name: "vpp.route", Key: map[string]string{"vrfId": "1", "dst_network": "10.1.2.3/8", "nextHopAddr": "", "outgoingInterface": "*"}}, {Name: "weight"}}},
		{Origin: "tenuto", Elem: []*gpb.PathElem{{Name: "state"}, {Name: "*"}, {Name: "state"}, {Name: "..."}}},
		{Elem: []*gpb.PathElem{{Name: "config"}, {Name: "vpp.vrf-table", Key: map[string]string{"id": "7", "protocol": "IPV6"}}}},
	} {
		wire, err := proto.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		p := &gpb.Path{}
		if proto.Unmarshal(wire, p) != nil {
			return
		}
		sel, wrong := s.parse(nil, p, nil)
		if wrong != nil {
			if wrong.elem >= len(p.Elem) || wrong.text == "" {
				t.Fatalf("%v: error %+v", p, wrong)
			}
			return
		}
		m := sel.model()
		if m == nil || sel.key == "" || m.Singleton() {
			return
		}
		item := m.NewInstance()
		for name, text := range sel.keys {
			field, _ := m.keyField(name)
			v, err := parseKey(field, text)
			if err != nil {
				t.Fatalf("%v: key %s: %v", p, name, err)
			}
			item.ProtoReflect().Set(field, v)
		}
		again, wrong := s.parse(nil, (&node{tree: s.trees[0], model: m, key: sel.key, item: item}).path(nil), nil)
		if wrong != nil || again.key != sel.key {
			t.Fatalf("%v: key %s, read again %+v, %v", p, sel.key, again, wrong)
		}
	})
}

package idxvpp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/vpp/idxvpp"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
)

func TestNameToIndex(t *testing.T) {
	t.Parallel()
	m := idxvpp.NewNameToIndex(logging.Nop(), "things")
	for i, name := range []string{"b", "a", "c"} {
		if err := m.Put(name, &idxvpp.OnlyIndex{Index: uint32(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if metadata, exists := m.LookupByName("a"); !exists || metadata.GetIndex() != 1 {
		t.Errorf("a: %v, %v, expected index 1", metadata, exists)
	}
	if name, metadata, exists := m.LookupByIndex(2); name != "c" || !exists || metadata.GetIndex() != 2 {
		t.Errorf("2: %q, %v, %v, expected c", name, metadata, exists)
	}
	if err := m.Put("a", &idxvpp.OnlyIndex{Index: 2}); err != nil {
		t.Fatal(err)
	}
	if name, _, _ := m.LookupByIndex(2); name != "a" {
		t.Errorf("2: %q, expected the first of a and c", name)
	}
	m.Delete("a")
	if _, exists := m.LookupByName("a"); exists {
		t.Error("a was deleted, but exists")
	}
	if name, _, exists := m.LookupByIndex(7); exists {
		t.Errorf("7: %q, expected none", name)
	}
	if names := m.ListAllNames(); !slices.Equal(names, []string{"b", "c"}) || m.GetRegistryTitle() != "things" {
		t.Errorf("%s has %q, expected b and c", m.GetRegistryTitle(), names)
	}
	if err := m.Put("d", 7); !strings.Contains(fmt.Sprint(err), `metadata of things "d": got int`) {
		t.Errorf("got %v, expected an error for metadata without an index", err)
	}
}

// The metadata of interfaces has an index.
func TestOfInterfaces(t *testing.T) {
	t.Parallel()
	s := idxmap.New[any]("interfaces")
	for name, metadata := range map[string]any{"loop1": &ifaceidx.IfMeta{SwIfIndex: 5}, "odd": "text"} {
		if err := s.Put(name, metadata); err != nil {
			t.Fatal(err)
		}
	}
	m, err := idxvpp.Of(s)
	if err != nil {
		t.Fatal(err)
	}
	if name, _, exists := m.LookupByIndex(5); name != "loop1" || !exists {
		t.Errorf("5: %q, %v, expected loop1", name, exists)
	}
	if metadata, exists := m.LookupByName("odd"); exists {
		t.Errorf("odd: %v, expected no index", metadata)
	}
	if value, exists := m.GetValue("odd"); !exists || value != "text" {
		t.Errorf("value of odd: %v, %v, expected text", value, exists)
	}
	if _, err := idxvpp.Of(nil); err == nil {
		t.Error("no error for a descriptor without metadata")
	}
}

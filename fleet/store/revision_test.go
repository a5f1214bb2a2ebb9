package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func routes(n int, change string) (items []Item) {
	for i := range n {
		gw := "192.0.2.1"
		key := fmt.Sprintf("config/vpp/v2/route/vrf/0/dst/10.%d.%d.0/24/gw/192.0.2.1", i/256, i%256)
		if key == change {
			gw = "192.0.2.9"
		}
		items = append(items, Item{Key: key, Value: json.RawMessage(fmt.Sprintf(`{"dst_network":"10.%d.%d.0/24","next_hop_addr":%q}`, i/256, i%256, gw))})
	}
	slices.Reverse(items)
	return items
}

// A configuration is stored in parts that etcd accepts, and a change of one item changes one part.
func TestPack(t *testing.T) {
	t.Parallel()
	const n = 100_000
	m, chunks, err := pack(routes(n, ""))
	if err != nil {
		t.Fatal(err)
	}
	if m.Items != n || len(m.Chunks) != len(chunks) {
		t.Errorf("%d items in %d of %d chunks", m.Items, len(m.Chunks), len(chunks))
	}
	var items []Item
	for _, name := range m.Chunks {
		if size := len(chunks[name]); size > 1_000_000 {
			t.Errorf("a chunk has %d bytes", size)
		}
		part, err := unpack(name, chunks[name])
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, part...)
	}
	want := routes(n, "")
	slices.SortFunc(want, func(a, b Item) int { return strings.Compare(a.Key, b.Key) })
	if !reflect.DeepEqual(items, want) {
		t.Error("the items are others")
	}
	_, after, err := pack(routes(n, want[n/2].Key))
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(after, func(name string, _ []byte) bool { return chunks[name] != nil })
	if len(after) != 1 {
		t.Errorf("the change of an item changes %d chunks of %d", len(after), len(chunks))
	}
}

func TestPackRefuses(t *testing.T) {
	t.Parallel()
	large, err := json.Marshal(strings.Repeat("x", maxChunk))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := pack([]Item{{Key: "config/large", Value: large}}); err == nil || !strings.Contains(err.Error(), "config/large: the item has 1048") {
		t.Errorf("error %v", err)
	}
	_, chunks, err := pack(routes(1, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range chunks {
		if _, err := unpack(digest([]byte("another")), data); !errors.Is(err, ErrDigest) {
			t.Errorf("error %v", err)
		}
		if _, err := unpack("x", data[:len(data)/2]); err == nil {
			t.Error("a damaged chunk is read")
		}
	}
}

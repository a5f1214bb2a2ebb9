package document

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
)

// tinyCodec takes every list for a long one, and cuts it into many pieces.
func tinyCodec(t testing.TB) *Codec {
	t.Helper()
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	c := New(set)
	c.long, c.piece = tiny, tiny
	return c
}

// However a text is read, it says the same.
func checkSame(t *testing.T, c *Codec, file, text string) {
	t.Helper()
	got := c.Decode(file, []byte(text), "/vnf-agent/a/")
	want, _ := c.decode(file, []byte(text), "/vnf-agent/a/", false)
	if got, want := told(got), told(want); got != want {
		t.Fatalf("read as\n%s\nnot as\n%s\n%s: %q", got, want, file, text)
	}
	if len(got.Items) != len(want.Items) {
		t.Fatalf("%d items, expected %d\n%s: %q", len(got.Items), len(want.Items), file, text)
	}
	for i, it := range got.Items {
		if !proto.Equal(it.Value, want.Items[i].Value) {
			t.Fatalf("item %d is\n%v\nnot\n%v\n%s: %q", i, it.Value, want.Items[i].Value, file, text)
		}
	}
}

// told is all of a document but the values.
func told(doc *Document) string {
	var b strings.Builder
	fmt.Fprintln(&b, "broken", doc.Broken, "foreign", doc.Foreign)
	for _, it := range doc.Items {
		fmt.Fprintln(&b, it.Position, it.Column, it.Key)
	}
	for _, e := range doc.Errs {
		fmt.Fprintf(&b, "%v, key %q\n", e, e.Key)
	}
	return b.String()
}

const manyLoops = "vppConfig:\n  interfaces:\n  - {name: a}\n  - {name: b, mtu: 9}\n  - name: c\n    mtu: 10\n  - {name: d}\n"

// sameTexts are right and wrong in all ways that there are.
var sameTexts = []string{
	manyLoops,
	manyLoops + "  - {name: b}\n  - {name: e}\n",                                // twice, in different pieces
	manyLoops + "  - {name: e}\n  - {name: f, mtuu: 1}\n  - {mtu: 1}\n  - {}\n", // wrong here and there
	manyLoops + "  - {name: &x e}\n  - {name: *x}\n",                            // not plain after all
	manyLoops + "  - {name: e}\n  interfaces:\n  - {name: x}\n  - {name: y}\n",  // given twice
	manyLoops + "  intefaces:\n  - {name: e}\n  - {name: f}\n",                  // no reader of that list
	manyLoops + "  intefaces:\n  - {name: e}\n  - {name: [}\n",                  // and it is malformed
	manyLoops + "  - 7\n  -  [1]\n  - - {name: e}\n",
	manyLoops + strings.Repeat("  - {name: a, mtu: -1}\n  - {name: z}\n", 80), // more errors than are reported
	manyLoops + "  routes: [{dst_network: 1::/64}, {dstNetwork: 1::/64, dst_network: 2::/64}]\nlinuxConfig: {}\n",
	"data:\n- {key: config/vpp/v2/interfaces/a, value: {name: a}}\n- {key: /vnf-agent/a/config/vpp/v2/interfaces/b, value: {name: b}}\n" +
		"- {key: /vnf-agent/b/config/vpp/v2/interfaces/c, value: {name: c}}\n- {key: config/vpp/v2/interfaces/a, value: {name: a}}\n" +
		"- key: config/vpp/v2/interfaces/d\n  value: '{\"name\": \"d\", \"mtu\": \"x\"}'\n- {key: config/vpp/v2/interfaces/e, value: {name: f}}\n",
	"vppConfig:\n  ipsecSas:\n  - {index: 1, cryptoKey: aa}\n  - {index: 2, cryptoKey: '***'}\n  - {index: 2, cryptoKey: bb}\n  - {index: 1}\n",
	`{"vppConfig": {"interfaces": [{"name": "a"}, {"name": "é"}, {"name": "b"}, {"name": "é"}], "routes": {"a": [1, 2, 3, 4, 5]}}}`,
	`{"vppConfig": {"interfaces": [{"name": "a"}, {"name": "b", "mtu": true}, {"name": "b"}, {"name": "c"}]}, "x": [1, 2, 3, 4, 5]}`,
	`{"vppConfig": {"interfaces": [{"name": "a"}, {"name": "b"}], "x": [1, 2, 3, 4, 5}]}}`,
	`{"data": [{"key": "config/vpp/v2/interfaces/a", "value": "{\"name\": \"a\", \"mtu\": {}}"}, {"key": "config/vpp/v2/interfaces/b"}, {"key": 1}, 2]}`,
	`{vppConfig: {interfaces: [{name: a}, {name: b}, {name: a}]}}`,
}

func TestSameHoweverRead(t *testing.T) {
	t.Parallel()
	c := tinyCodec(t)
	for _, text := range sameTexts {
		checkSame(t, c, "a.yaml", text)
		checkSame(t, c, "a.json", text)
	}
}

func FuzzSameHoweverRead(f *testing.F) {
	for _, text := range sameTexts {
		f.Add("a.yaml", text)
		f.Add("a.json", text)
	}
	c := tinyCodec(f)
	f.Fuzz(func(t *testing.T, file, text string) { checkSame(t, c, file, text) })
}

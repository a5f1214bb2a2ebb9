package document_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// repeated returns a text of n fields or elements, which are formatted with their numbers.
func repeated(before string, n int, format, after string) string {
	var b strings.Builder
	b.WriteString(before)
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	b.WriteString(after)
	return b.String()
}

// allocated returns how many bytes f allocates, garbage included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A text that consists of mistakes needs little memory, and gets a short answer.
func TestLimits(t *testing.T) { //nolint:paralleltest // it measures memory
	c := document.New(allmodels.MustSet())
	const n = 400_000
	long := strings.Repeat("n", 10<<20)
	for name, test := range map[string]struct{ text, want string }{
		"YAML, top":       {repeated("", n, "k%d: 1\n", ""), "more than 4096 fields"},
		"YAML, slow":      {repeated("x: &a 1\n", n, "k%d: 1\n", ""), "more than 4096 fields"},
		"YAML, item":      {repeated("vppConfig:\n  interfaces:\n  - name: a\n", n, "    k%d: 1\n", ""), "more than 4096 fields"},
		"YAML, flow":      {repeated("vppConfig: {", n, "k%d: 1, ", "}\n"), "more than 4096 fields"},
		"YAML, slow flow": {repeated("x: &a 1\nvppConfig: [{", n, "k%d: 1,\n  ", "}]\n"), "more than 4096 fields"},
		"YAML, text":      {repeated("x: |\n  {\n", n, "k%d: 1\n", ""), "more than 4096 fields"},
		"YAML, nested":    {repeated("x: &a 1\nvppConfig:\n", n, "  k%d: 1\n", ""), "more than 4096 fields"},
		"YAML, documents": {strings.Repeat("---\n", n), "more than 1000 YAML documents"},
		"JSON, top":       {repeated("{", n, `"k%d":1,`, `"x":1}`), "more than 4096 fields"},
		"JSON, group":     {repeated(`{"vppConfig":{`, n, `"k%d":1,`, `"x":1}}`), "more than 4096 fields"},
		"JSON, item":      {repeated(`{"vppConfig":{"interfaces":[{`, n, `"k%d":1,`, `"x":1}]}}`), "more than 4096 fields"},
		"JSON, list":      {`{"vppConfig":{"interfaces":[{"ipAddresses":[` + strings.Repeat("1,", 5_000_000) + `1]}]}}`, "more than 150000 values"},
		"YAML, list":      {"vppConfig:\n  interfaces:\n  - ipAddresses: [" + strings.Repeat("1, ", 3_000_000) + "1]\n", "more than 150000 values"},
		"JSON, malformed": {repeated("{", n, `"k%d":1,`, `"x":`), "more than 4096 fields"},
		"JSON, elements":  {`{"vppConfig":{"interfaces":[` + strings.Repeat("{},", 2_000_000) + `{}]}}`, "the rest was not read"},
		"a name":          {`{"vppConfig":{"interfaces":[{"name":"` + long + `"}]}}`, "expected at most 1048576"},
		"a long name":     {`{"vppConfig":{"interfaces":[{"name":"` + long[:100_000] + `"}]}}`, "the key of the item has"},
		"a key":           {`{"data":[{"key":"config/vpp/v2/interfaces/` + long + `","value":{}}]}`, "the key of the item has"},
		"a field":         {`{"vppConfig":{"` + long + `":1}}`, "unknown field"},
		"a value":         {`{"vppConfig":{"interfaces":[{"name":"a","type":"` + long + `"}]}}`, "expected at most 1048576"},
	} {
		text := []byte(test.text)
		var errs []string
		bytes := allocated(func() {
			doc := c.Decode("body", text, "")
			for _, err := range doc.Errs {
				errs = append(errs, err.Error())
			}
		})
		answer := strings.Join(errs, "\n")
		if !strings.Contains(answer, test.want) {
			t.Errorf("%s: %.300s, expected %q", name, answer, test.want)
		}
		if len(errs) > 101 || len(answer) > 64<<10 {
			t.Errorf("%s: %d errors of %d bytes", name, len(errs), len(answer))
		}
		if limit := uint64(4*len(text)) + 8<<20; bytes > limit {
			t.Errorf("%s: %d MB for a text of %d MB", name, bytes>>20, len(text)>>20)
		}
		t.Logf("%s: %.1f times the text", name, float64(bytes)/float64(len(text)))
	}
}

// Large configurations are within the limits.
func TestWithinLimits(t *testing.T) {
	t.Parallel()
	c := document.New(allmodels.MustSet())
	rule := `{"action":"PERMIT","ipRule":{"ip":{"destinationNetwork":"10.0.0.0/8","sourceNetwork":"0.0.0.0/0"}}},`
	for name, text := range map[string]string{
		"an ACL with 10,000 rules": `{"vppConfig":{"acls":[{"name":"a","rules":[` + strings.TrimSuffix(strings.Repeat(rule, 10_000), ",") + `]}]}}`,
		"YAML with an anchor": repeated("vppConfig:\n  interfaces:\n  - &x {name: first, type: SOFTWARE_LOOPBACK}\n", 20_000,
			"  - name: loop%d\n    type: SOFTWARE_LOOPBACK\n    ipAddresses: [10.0.0.1/32]\n", ""),
		"YAML with a header": repeated("---\nvppConfig:\n  interfaces:\n", 20_000, "  - {name: loop%d, type: SOFTWARE_LOOPBACK}\n", ""),
		"flow over lines":    repeated("vppConfig: &x {interfaces: [\n", 20_000, "  {name: loop%d, type: SOFTWARE_LOOPBACK},\n", "  ]}\n"),
	} {
		if doc := c.Decode("body", []byte(text), ""); len(doc.Errs) > 0 || len(doc.Items) == 0 {
			t.Errorf("%s: %d items, %v", name, len(doc.Items), doc.Errs)
		}
	}
}

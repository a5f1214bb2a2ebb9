package compatibility

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// exchange is a request, with the shape of the predecessor's answer: objects have all
// fields that any of them had, lists one element; numbers are 0, texts are empty.
type exchange struct {
	Method, Path, Body string
	Status             int
	Type               string
	Answer             any
}

func (e exchange) String() string { return e.Method + " " + e.Path }

func exchanges(t *testing.T) (all []exchange) {
	t.Helper()
	text, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRequests compares the answers with the answers of the predecessor. All
// differences are in the table, and nothing else.
func TestRequests(t *testing.T) {
	t.Parallel()
	plugins := startAgent(t)
	used := map[string]bool{}
	for _, e := range exchanges(t) {
		status, contentType, body := request(t, plugins, e.Method, e.Path, e.Body)
		var found []string
		if status != e.Status {
			found = append(found, fmt.Sprintf("status %d", status))
		}
		if contentType != e.Type {
			found = append(found, "type "+contentType)
		}
		var got any
		if err := json.Unmarshal([]byte(body), &got); e.Answer != nil && err != nil {
			found = append(found, "no JSON")
		} else if e.Answer != nil {
			compare("", e.Answer, shape("", got), &found)
		}
		d, known := differenceOf(e)
		used[d.requests] = known || used[d.requests]
		for _, f := range found {
			if !slices.ContainsFunc(d.fields, func(allowed string) bool {
				return allowed == f || strings.HasSuffix(allowed, "*") && strings.HasPrefix(f, strings.TrimSuffix(allowed, "*"))
			}) {
				t.Errorf("%s: %s\n%.300s", e, f, body)
			}
		}
		if known && d.verdict != same && len(found) == 0 {
			t.Errorf("%s: nothing differs, but the table has %q", e, d.fields)
		}
	}
	for _, d := range differences() {
		if !used[d.requests] {
			t.Errorf("the table has %s, which no request matches", d.requests)
		}
	}
}

// differenceOf returns the entry of the table for a request.
func differenceOf(e exchange) (difference, bool) {
	for _, d := range differences() {
		if regexp.MustCompile("^("+d.requests+")$").MatchString(e.String()) && (d.body == "" || strings.Contains(e.Body, d.body)) {
			return d, true
		}
	}
	return difference{}, false
}

// requestRows are the rows of the page, one for each path and what it is compared by.
func requestRows(t *testing.T) (rows []row) {
	t.Helper()
	seen := map[row]bool{}
	for _, e := range exchanges(t) {
		r := row{e.String(), same, ""}
		if d, ok := differenceOf(e); ok {
			r.verdict, r.how = d.verdict, d.how
		}
		if !seen[r] {
			rows = append(rows, r)
		}
		seen[r] = true
	}
	return rows
}

// dynamic are fields that are maps, as are objects whose keys are numbers or MAC addresses.
var (
	dynamic  = []string{"Descriptors", "PluginStatus", "PerValueCount"}
	dynamics = regexp.MustCompile(`^(\d+|([0-9a-f]{2}:){5}[0-9a-f]{2})$`)
)

// shape returns the shape of a value; see exchange.
func shape(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		all := make([]any, len(keys))
		for i, key := range keys {
			all[i] = shape(key, v[key])
		}
		if len(v) > 0 && (slices.Contains(dynamic, name) || !slices.ContainsFunc(keys, func(k string) bool { return !dynamics.MatchString(k) })) {
			return map[string]any{"*": merge(all)}
		}
		out := map[string]any{}
		for i, key := range keys {
			out[key] = all[i]
		}
		return out
	case []any:
		all := make([]any, len(v))
		for i, e := range v {
			all[i] = shape("", e)
		}
		if len(all) == 0 {
			return all
		}
		return []any{merge(all)}
	}
	return v
}

// merge returns a shape with all that any of them has.
func merge(all []any) any {
	var first any
	for _, v := range all {
		switch v := v.(type) {
		case nil:
		case map[string]any:
			into, ok := first.(map[string]any)
			if !ok {
				into = map[string]any{}
				first = into
			}
			for key, value := range v {
				into[key] = merge([]any{into[key], value})
			}
		case []any:
			into, _ := first.([]any)
			if elements := slices.Concat(into, v); len(elements) > 0 {
				first = []any{merge(elements)}
			} else if first == nil {
				first = v
			}
		default:
			if first == nil {
				first = v
			}
		}
	}
	return first
}

// compare adds what a shape lacks of the predecessor's.
func compare(path string, want, got any, found *[]string) {
	add := func(text string) { *found = append(*found, strings.TrimSpace(path+" "+text)) }
	switch want := want.(type) {
	case nil:
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			add("is no object")
			return
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if value, ok := object[key]; ok {
				compare(path+"."+key, want[key], value, found)
			} else {
				*found = append(*found, path+"."+key+" is missing")
			}
		}
	case []any:
		list, ok := got.([]any)
		switch {
		case !ok && (got != nil || len(want) > 0):
			add("is no list")
		case len(want) > 0 && len(list) == 0:
			add("is empty")
		case len(want) > 0:
			compare(path+"[]", want[0], list[0], found)
		}
	default:
		if fmt.Sprintf("%T", want) != fmt.Sprintf("%T", got) {
			add(fmt.Sprintf("is %T", got))
		}
	}
}

package observable_test

import (
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/observable"
)

func TestValues(t *testing.T) {
	t.Parallel()
	var values observable.Values[string]
	put := func(name, text string) {
		values.Put(name, func(before string, known bool) (string, bool) { return text, !known || before != text })
	}
	leave := func(before string) (string, bool) { return before + " left", true }
	var first, second []string
	expect := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	defer values.Watch(func(v string) { first = append(first, v) })()
	values.Remove("b", leave) // which is not there
	put("b", "bass")
	put("a", "alto")
	put("a", "alto") // no news
	expect(first, "bass", "alto")
	cancel := values.Watch(func(v string) { second = append(second, v) })
	expect(second, "alto", "bass")
	put("b", "baritone")
	values.Remove("a", leave)
	expect(second, "alto", "bass", "baritone", "alto left")
	expect(values.List(), "baritone")
	expect(values.Names(), "b")
	values.Remove("b", func(before string) (string, bool) { return before, false }) // which stays
	expect(values.Names(), "b")
	cancel()
	put("c", "")
	expect(second, "alto", "bass", "baritone", "alto left")
	expect(first, "bass", "alto", "baritone", "alto left", "")
}

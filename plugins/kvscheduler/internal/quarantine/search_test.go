package quarantine_test

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/quarantine"
)

func numbered(n int) []string {
	order := make([]string, n)
	for i := range order {
		order[i] = fmt.Sprint("v", i)
	}
	return order
}

func tries(t *rapid.T, n int) []int {
	return rapid.SliceOfN(rapid.IntRange(0, n), 0, 2).Draw(t, "tries")
}

// Whatever the southbound crashes of, the search finds the last value of it, if it crashes of nothing
// less; with one crash for each halving and try, and one that confirms it.
func TestSearchFindsTheCulprit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100).Draw(t, "values")
		deadly := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, min(n, 3), rapid.ID[int]).Draw(t, "deadly")
		culprit := slices.Max(deadly)
		s := quarantine.Search{Southbound: "s"}
		s.Begin(numbered(n), tries(t, n), rapid.Bool().Draw(t, "sure"))
		for crashes := 0; ; {
			var verdict quarantine.Verdict
			if s.Mid > culprit {
				crashes++
				verdict = s.Crashed()
			} else {
				verdict = s.Survived()
			}
			if most := bits.Len(uint(n)) + 4; crashes > most {
				t.Fatalf("%d crashes, expected %d at most", crashes, most)
			}
			if rapid.Bool().Draw(t, "restart") {
				s = again(t, s)
			}
			if verdict == quarantine.Continues {
				continue
			}
			if verdict != quarantine.Culprit || s.Order[s.Hi-1] != fmt.Sprint("v", culprit) {
				t.Fatalf("verdict %v, culprit %d, %+v", verdict, culprit, s)
			}
			return
		}
	})
}

// again returns the search as the next run restores it.
func again(t *rapid.T, s quarantine.Search) (next quarantine.Search) {
	data, err := json.Marshal(&s)
	if err == nil {
		err = json.Unmarshal(data, &next)
	}
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// A search ends whatever happens, and finds no culprit that the southbound survived with.
func TestSearchEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100).Draw(t, "values")
		s := quarantine.Search{Southbound: "s"}
		s.Begin(numbered(n), tries(t, n), false)
		crashed := false
		for steps := 0; ; steps++ {
			if steps > 100 {
				t.Fatalf("it continues: %+v", s)
			}
			if s.Mid < 0 || s.Mid > n {
				t.Fatalf("%d of %d values are applied", s.Mid, n)
			}
			verdict := quarantine.Continues
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0, 1:
				crashed = true
				verdict = s.Crashed()
			case 2, 3:
				crashed = false
				verdict = s.Survived()
			default:
				s.Changed(fmt.Sprint("v", rapid.IntRange(0, n).Draw(t, "changed")), rapid.Bool().Draw(t, "deleted"), rapid.Bool().Draw(t, "down"))
			}
			if verdict == quarantine.Culprit && !crashed {
				t.Fatalf("it survives with the culprit: %+v", s)
			}
			if verdict != quarantine.Continues {
				return
			}
		}
	})
}

// Records of searches that cannot be are refused.
func TestDamagedSearch(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		"{", "null", `{"Southbound":"t"}`, `{"Southbound":"s","Order":["a"],"Lo":-1,"Hi":2,"Mid":1}`, `{"Southbound":"s","Order":["a"],"Lo":-1,"Hi":1,"Mid":-1}`,
		`{"Southbound":"s","Order":["a"],"Lo":1,"Hi":1,"Mid":0}`, `{"Southbound":"s","Order":["a"],"Lo":-2,"Hi":1,"Mid":0}`, `{"Southbound":"s","Lo":0,"Hi":1,"Mid":1}`,
	} {
		tracker := quarantine.New(3)
		if err := tracker.RestoreSearch("s", []byte(data), time.Second); err == nil || tracker.Len() > 0 {
			t.Errorf("%s is accepted", data)
		}
	}
	tracker := quarantine.New(3)
	if err := tracker.RestoreSearch("s", []byte(`{"Southbound":"s","Order":["a","","b"],"Lo":0,"Hi":3,"Mid":1}`), time.Second); err != nil {
		t.Fatal(err)
	}
	held := tracker.List(nil)
	if len(held) != 1 || held[0].Key != "b" || !held[0].HeldBack || !strings.Contains(held[0].Search, "searching: 1 of 3 values held back") {
		t.Errorf("held back are %+v", held)
	}
}

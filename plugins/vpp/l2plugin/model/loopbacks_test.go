package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
)

// loopbackOf knows loopbacks "l..." and their sub-interfaces "l....n".
func loopbackOf(name string) string {
	if !strings.HasPrefix(name, "l") {
		return ""
	}
	loopback, _, _ := strings.Cut(name, ".")
	return loopback
}

func TestCircles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		others, last, want string
	}{
		{"", "l1>l2", ""},
		{"", "l1>l1", ""}, // another error says so
		{"", "l1>l1.7", "l1 l1.7"},
		{"", "l1.7>l1", "l1.7 l1"},
		{"l1>l2", "l2>l1", "l2 l1 l2"},
		{"l1>l2.7 l3>l1", "l2>l3", "l2 l3 l1 l2.7"},
		{"l1>m m>l1", "l2>l1", ""},
		{"m>l1", "l1>m", ""},
		{"l2>l3 l3>l2", "l1>l2", ""}, // a circle, but not of the last one
	} {
		circles := model.NewCircles(loopbackOf)
		cross := func(text string) model.Cross {
			rx, tx, _ := strings.Cut(text, ">")
			return model.Cross{Receive: rx, Transmit: tx}
		}
		for _, x := range strings.Fields(c.others) {
			circles.Add(cross(x))
		}
		if got := circles.Completed(cross(c.last)); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s after %q: circle %q, expected %q", c.last, c.others, got, c.want)
		}
	}
}

func TestFloodForEver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"l1", "l2", false}, {"l1", "m", false}, {"l1.7", "m", false}, {"l1.7", "l2", false}, {"l1.7", "l1.7", false},
		{"l1.7", "l1.8", true}, {"l1.7", "l2.7", true}, {"l1.7", "l1", true},
	} {
		of := model.LoopbackOf(loopbackOf)
		if of.FloodForEver(c.a, c.b) != c.want || of.FloodForEver(c.b, c.a) != c.want {
			t.Errorf("%s and %s: expected %t", c.a, c.b, c.want)
		}
	}
}

package descriptor

import (
	"errors"
	"strings"
	"testing"
)

// TestChangeOfParts: what is new is added before anything goes, and goes again
// when VPP refuses the next one.
func TestChangeOfParts(t *testing.T) {
	t.Parallel()
	errRefused := errors.New("refused")
	for _, test := range []struct {
		refuse int // number of the request, from 1
		want   string
	}{
		{0, "+c +d -a"},
		{1, "+c"},
		{2, "+c +d -c"},
		{3, "+c +d -a"},
	} {
		var calls []string
		err := changeParts([]string{"a", "b"}, []string{"b", "c", "d"}, func(part string, add bool) error {
			calls = append(calls, map[bool]string{true: "+", false: "-"}[add]+part)
			if len(calls) == test.refuse {
				return errRefused
			}
			return nil
		})
		if got := strings.Join(calls, " "); got != test.want {
			t.Errorf("request %d refused: %s, expected %s", test.refuse, got, test.want)
		}
		if (test.refuse == 0) != (err == nil) || err != nil && !errors.Is(err, errRefused) {
			t.Errorf("request %d refused: error %v", test.refuse, err)
		}
	}
}

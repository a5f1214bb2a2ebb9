package span_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/fleet/internal/span"
)

// first returns up to n values of a set.
func first(s *span.Set, n int) (list []string) {
	values := s.Values()
	for v, ok := values.Next(); ok && len(list) < n; v, ok = values.Next() {
		list = append(list, s.Format(v))
	}
	return list
}

func TestValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind            string
		ranges, exclude []string
		length          int
		size, want      string
	}{
		{"ipv4", []string{"10.0.0.0/29"}, nil, 0, "6", "[10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5]"},
		{"ipv4", []string{"10.0.0.0/31", "10.0.0.8/32"}, nil, 0, "3", "[10.0.0.0 10.0.0.1 10.0.0.8]"},
		{"ipv4", []string{"10.0.0.9", "10.0.0.1 - 10.0.0.5"}, []string{"10.0.0.0/30", "10.0.0.5"}, 0, "2", "[10.0.0.9 10.0.0.4]"},
		{"ipv4", []string{"255.255.255.254-255.255.255.255"}, nil, 0, "2", "[255.255.255.254 255.255.255.255]"},
		{"ipv6", []string{"fd00::/64"}, []string{"fd00::2"}, 0, "18446744073709551614", "[fd00::1 fd00::3 fd00::4 fd00::5 fd00::6]"},
		{"ipv6", []string{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"}, nil, 0, "2",
			"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]"},
		{"ipv6", []string{"::/0"}, []string{"::/1"}, 0, "170141183460469231731687303715884105728", "[8000:: 8000::1 8000::2 8000::3 8000::4]"},
		{"prefix", []string{"10.0.0.0/22"}, []string{"10.0.1.7"}, 24, "3", "[10.0.0.0/24 10.0.2.0/24 10.0.3.0/24]"},
		{"prefix", []string{"fd00::/46", "fe00::/48"}, []string{"fd00:0:1::/48"}, 48, "4", "[fd00::/48 fd00:0:2::/48 fd00:0:3::/48 fe00::/48]"},
		{"prefix", []string{"0.0.0.0/0"}, nil, 1, "2", "[0.0.0.0/1 128.0.0.0/1]"},
		{"integer", []string{"100-102", "7"}, []string{"101"}, 0, "3", "[100 102 7]"},
		{"integer", []string{"9223372036854775807"}, nil, 0, "1", "[9223372036854775807]"},
	} {
		s, problems := span.New(c.kind, c.ranges, c.exclude, c.length)
		if len(problems) > 0 {
			t.Errorf("%v: %v", c.ranges, problems)
			continue
		}
		if got := fmt.Sprint(first(s, 5)); got != c.want || s.Size().String() != c.size {
			t.Errorf("%v without %v: %s of %s, expected %s of %s", c.ranges, c.exclude, got, s.Size(), c.want, c.size)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, kind := range map[string]string{"10.0.0.1": "ipv4", "fd00::1": "ipv6", "10.0.4.0/24": "prefix", "17": "integer"} {
		s, _ := span.New(kind, map[string][]string{"ipv4": {"10.0.0.0/24"}, "ipv6": {"fd00::/64"}, "prefix": {"10.0.0.0/16"}, "integer": {"1-9"}}[kind], nil, 24)
		n, err := s.Parse(text)
		if err != nil || s.Format(n) != text || s.Contains(n) != (kind != "integer") {
			t.Errorf("%s of %s: %v, %s", text, kind, err, s.Format(n))
		}
		for _, wrong := range []string{"", "x", "10.0.4.1/24", "10.0.0.0/25", "fe80::1%eth0", "-1", "fd00::/64"} {
			if _, err := s.Parse(wrong); err == nil {
				t.Errorf("%q is a value of %s", wrong, kind)
			}
		}
	}
}

// A set gives the values of the ranges that are not excluded, in the order of the ranges.
func TestValuesAreThoseOfAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		address := func(n int) string { return netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}).String() }
		var ranges, exclude, want []string
		used, excluded := map[int]bool{}, map[int]bool{}
		for range rapid.IntRange(0, 3).Draw(t, "excluded") {
			a := rapid.IntRange(0, 600).Draw(t, "a")
			b := rapid.IntRange(a, a+100).Draw(t, "b")
			exclude = append(exclude, address(a)+"-"+address(b))
			for i := a; i <= b; i++ {
				excluded[i] = true
			}
		}
		for range rapid.IntRange(1, 3).Draw(t, "ranges") {
			a := rapid.IntRange(0, 600).Draw(t, "a")
			b := rapid.IntRange(a, a+100).Draw(t, "b")
			if slices.ContainsFunc([]int{a, b}, func(n int) bool { return used[n] }) {
				continue
			}
			overlaps := false
			for i := a; i <= b; i++ {
				overlaps = overlaps || used[i]
			}
			if overlaps {
				continue
			}
			ranges = append(ranges, address(a)+"-"+address(b))
			for i := a; i <= b; i++ {
				if used[i] = true; !excluded[i] {
					want = append(want, address(i))
				}
			}
		}
		s, problems := span.New("ipv4", ranges, exclude, 0)
		if got := first(s, 1000); len(problems) > 0 || !slices.Equal(got, want) || s.Size().String() != fmt.Sprint(len(want)) {
			t.Fatalf("%v without %v: %v, %v, expected %v", ranges, exclude, problems, got, want)
		}
		for _, text := range want {
			if n, err := s.Parse(text); err != nil || !s.Contains(n) {
				t.Fatalf("%s: %v", text, err)
			}
		}
	})
}

// Package span has sets of addresses, networks and numbers, from which pools give values.
package span

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Span is a range of numbers. Both ends belong to it.
type Span struct{ First, Last Number }

func (s Span) overlaps(o Span) bool { return !s.Last.Less(o.First) && !o.Last.Less(s.First) }

// The types of values, as pools name them.
const (
	ipv4    = "ipv4"
	ipv6    = "ipv6"
	prefix  = "prefix"
	integer = "integer"
)

// Set is the set of values of a pool.
type Set struct {
	kind   string
	v6     bool
	length int // of prefixes
	step   Number
	free   []Span // what values are taken from, in this order
}

// Problem is an error in a part of the specification of a pool.
type Problem struct {
	Field string // "ranges[1]"
	Err   error
}

// New returns the set of values of a pool type, "ipv4" for example. length is the length of
// the prefixes of a pool with the type "prefix".
func New(kind string, ranges, exclude []string, length int) (*Set, []Problem) {
	s := &Set{kind: kind, v6: kind == ipv6, length: length, step: Number{0, 1}}
	var problems []Problem
	read := func(field string, texts []string, isRange bool) (spans []Span) {
		for i, text := range texts {
			if i == 0 && isRange && kind == prefix {
				s.useFamily(text)
			}
			span, err := s.parse(text, isRange)
			if err != nil {
				problems = append(problems, Problem{fmt.Sprintf("%s[%d]", field, i), err})
				continue
			}
			for j, other := range spans {
				if span.overlaps(other) && isRange {
					problems = append(problems, Problem{fmt.Sprintf("%s[%d]", field, i), fmt.Errorf("%q overlaps with %q", text, texts[j])})
				}
			}
			spans = append(spans, span)
		}
		return spans
	}
	all := read("ranges", ranges, true)
	excluded := read("exclude", exclude, false)
	if len(problems) == 0 {
		s.free = s.without(all, excluded)
	}
	return s, problems
}

// useFamily sets the version of IP and the size of the networks of a pool of prefixes.
func (s *Set) useFamily(text string) {
	if p, err := netip.ParsePrefix(text); err == nil {
		s.v6 = p.Addr().Is6()
		s.step, _ = lowBits(p.Addr().BitLen() - s.length).plus(Number{0, 1})
	}
}

// parse reads a range, or an excluded range.
func (s *Set) parse(text string, isRange bool) (Span, error) {
	switch {
	case s.kind == integer:
		return parseNumbers(text)
	case strings.Contains(text, "/"):
		return s.parsePrefix(text, isRange)
	case s.kind == prefix && isRange:
		return Span{}, fmt.Errorf("%q: expected a network such as 10.0.0.0/16", text)
	}
	first, last, isPair := strings.Cut(text, "-")
	if !isPair {
		last = first
	}
	a, err := s.parseAddress(first, text)
	if err != nil {
		return Span{}, err
	}
	b, err := s.parseAddress(last, text)
	if err != nil {
		return Span{}, err
	}
	if b.Less(a) {
		return Span{}, fmt.Errorf("%q: the last address is before the first one", text)
	}
	return Span{a, b}, nil
}

// parseAddress reads one address of a text.
func (s *Set) parseAddress(part, text string) (Number, error) {
	a, err := netip.ParseAddr(strings.TrimSpace(part))
	if err != nil || a.Is6() != s.v6 || a.Zone() != "" {
		return Number{}, fmt.Errorf("%q: expected an %s address, a network, or a first and a last address (%s)", text, s.family(), s.example())
	}
	return ofAddress(a), nil
}

func (s *Set) family() string {
	if s.v6 {
		return "IPv6"
	}
	return "IPv4"
}

func (s *Set) example() string {
	if s.v6 {
		return "fd00::10-fd00::99"
	}
	return "10.0.0.10-10.0.0.99"
}

// hostBits is the number of bits that a network must have for addresses of hosts, so that its first and last
// address have another purpose.
const hostBits = 2

// parsePrefix reads a network. Addresses are not taken from its ends: the first one names the network (or any
// router in it), and the last one of IPv4 is for broadcasts.
func (s *Set) parsePrefix(text string, isRange bool) (Span, error) {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil || p.Addr().Is6() != s.v6:
		return Span{}, fmt.Errorf("%q: expected an %s network such as %s", text, s.family(), s.network())
	case p != p.Masked():
		return Span{}, fmt.Errorf("%q: bits behind the prefix length are set, expected %s", text, p.Masked())
	case s.kind == prefix && isRange && (s.length < p.Bits() || s.length > p.Addr().BitLen()):
		return Span{}, fmt.Errorf("%q has no networks with the prefixLength %d, expected a length from %d to %d", text, s.length, p.Bits(), p.Addr().BitLen())
	}
	host := p.Addr().BitLen() - p.Bits()
	span := Span{ofAddress(p.Addr()), ofAddress(p.Addr()).or(lowBits(host))}
	if s.kind != prefix && isRange && host >= hostBits {
		span.First, _ = span.First.plus(Number{0, 1})
		if !s.v6 {
			span.Last = span.Last.minus(Number{0, 1})
		}
	}
	return span, nil
}

func (s *Set) network() string {
	if s.v6 {
		return "fd00::/64"
	}
	return "10.0.0.0/24"
}

// parseNumbers reads "5" or "5-10".
func parseNumbers(text string) (Span, error) {
	first, last, isPair := strings.Cut(text, "-")
	if !isPair {
		last = first
	}
	a, err := strconv.ParseUint(strings.TrimSpace(first), 10, 63)
	b, err2 := strconv.ParseUint(strings.TrimSpace(last), 10, 63)
	switch {
	case err != nil || err2 != nil:
		return Span{}, fmt.Errorf("%q: expected a number, or a first and a last one (100-199), from 0 to %d", text, uint64(math.MaxInt64))
	case b < a:
		return Span{}, fmt.Errorf("%q: the last number is less than the first one", text)
	}
	return Span{Number{0, a}, Number{0, b}}, nil
}

// without returns the parts of ranges that hold whole values and are not excluded, in the order of the ranges.
func (s *Set) without(ranges, excluded []Span) (free []Span) {
	slices.SortFunc(excluded, func(a, b Span) int {
		if a.First.Less(b.First) {
			return -1
		}
		return 1
	})
	mask := s.step.minus(Number{0, 1})
	for _, r := range ranges {
		rest, done := r, false
		for _, x := range excluded {
			if done || !x.overlaps(rest) {
				continue
			}
			first := x.First.and(mask.not()) // of the first value that is not whole
			if rest.First.Less(first) {
				free = append(free, Span{rest.First, first.minus(Number{0, 1})})
			}
			next, overflow := x.Last.or(mask).plus(Number{0, 1})
			done = overflow || rest.Last.Less(next)
			rest.First = next
		}
		if !done {
			free = append(free, rest)
		}
	}
	return free
}

// Size returns the number of values.
func (s *Set) Size() *big.Int {
	size := new(big.Int)
	for _, f := range s.free {
		span := f.Last.minus(f.First).big()
		size.Add(size, span.Add(span, big.NewInt(1)))
	}
	return size.Div(size, s.step.big())
}

// Common returns a value or an address that two sets have in common; ok is false if there is none.
func (s *Set) Common(o *Set) (text string, ok bool) {
	if s.v6 != o.v6 {
		return "", false
	}
	for _, a := range s.free {
		for _, b := range o.free {
			if a.overlaps(b) {
				first := a.First
				if first.Less(b.First) {
					first = b.First
				}
				if s.kind == integer {
					return strconv.FormatUint(first.Lo, 10), true
				}
				return first.address(s.v6).String(), true
			}
		}
	}
	return "", false
}

// Contains reports whether a value belongs to the set.
func (s *Set) Contains(n Number) bool {
	return slices.ContainsFunc(s.free, func(f Span) bool { return !n.Less(f.First) && !f.Last.Less(n) })
}

// errOther is the error of a value that has another form.
var errOther = errors.New("has another form")

// Parse reads a value in the form of Format, whether it belongs to the set or not.
func (s *Set) Parse(text string) (Number, error) {
	var n Number
	err := errOther
	switch s.kind {
	case integer:
		n.Lo, err = strconv.ParseUint(text, 10, 63)
	case prefix:
		if p, wrong := netip.ParsePrefix(text); wrong == nil && p == p.Masked() && p.Addr().Is6() == s.v6 && p.Bits() == s.length {
			n, err = ofAddress(p.Addr()), nil
		}
	default:
		if a, wrong := netip.ParseAddr(text); wrong == nil && a.Is6() == s.v6 && a.Zone() == "" {
			n, err = ofAddress(a), nil
		}
	}
	if err != nil {
		return n, fmt.Errorf("%q: expected %s", text, s.form())
	}
	return n, nil
}

// form says what values are.
func (s *Set) form() string {
	switch s.kind {
	case integer:
		return "a number"
	case prefix:
		return fmt.Sprintf("an %s network with the length %d", s.family(), s.length)
	}
	return "an " + s.family() + " address"
}

// Format returns the text of a value.
func (s *Set) Format(n Number) string {
	switch s.kind {
	case integer:
		return strconv.FormatUint(n.Lo, 10)
	case prefix:
		return netip.PrefixFrom(n.address(s.v6), s.length).String()
	}
	return n.address(s.v6).String()
}

// Cover returns the values that an address or a network ("10.0.0.1", "10.0.0.1/24") or a number makes
// unusable for others: the first and the last one. ok is false if it has nothing to do with the set.
func (s *Set) Cover(text string) (first, last Number, ok bool) {
	if s.kind == integer {
		n, err := s.Parse(text)
		return n, n, err == nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return first, last, false
		}
		p = netip.PrefixFrom(a, a.BitLen())
	}
	if p.Addr().Is6() != s.v6 {
		return first, last, false
	}
	if s.kind != prefix { // an address of an interface
		n := ofAddress(p.Addr())
		return n, n, true
	}
	mask := s.step.minus(Number{0, 1})
	network := ofAddress(p.Masked().Addr())
	return network.and(mask.not()), network.or(lowBits(p.Addr().BitLen() - p.Bits())).and(mask.not()), true
}

// Cursor goes through the values of a set, the lowest of each range first.
type Cursor struct {
	set  *Set
	at   int // of set.free
	next Number
	in   bool // next is in the range
}

// Values returns a cursor before the first value.
func (s *Set) Values() *Cursor { return &Cursor{set: s} }

// Next returns the next value; ok is false after the last one.
func (c *Cursor) Next() (n Number, ok bool) {
	for ; c.at < len(c.set.free); c.at, c.in = c.at+1, false {
		f := c.set.free[c.at]
		if !c.in {
			c.next, c.in = f.First, true
		}
		if n = c.next; f.Last.Less(n) {
			continue
		}
		if next, overflow := n.plus(c.set.step); overflow {
			c.at, c.in = c.at+1, false
		} else {
			c.next = next
		}
		return n, true
	}
	return n, false
}

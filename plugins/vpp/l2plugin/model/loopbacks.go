package model

import (
	"fmt"
	"strings"
)

// VPP receives on a loopback, or on one of its sub-interfaces, what it sends on any of them. If a
// cross-connect or a bridge domain then sends the frame there again, it goes round for ever: VPP does
// nothing else, answers no request, and runs out of memory (seen with 25.10).

// LoopbackOf returns the name of the loopback that an interface is, or is a sub-interface of; empty if it
// is neither.
type LoopbackOf func(iface string) string

// Cross is a cross-connect between two interfaces.
type Cross struct{ Receive, Transmit string }

// Circles finds circles of cross-connects among loopbacks.
type Circles struct {
	of   LoopbackOf
	from map[string][]Cross // by the loopback that they receive on
}

// NewCircles returns Circles without cross-connects.
func NewCircles(of LoopbackOf) *Circles { return &Circles{of, map[string][]Cross{}} }

// Add adds a cross-connect.
func (c *Circles) Add(x Cross) {
	if loopback := c.of(x.Receive); loopback != "" {
		c.from[loopback] = append(c.from[loopback], x)
	}
}

// Completed returns the interfaces of the circle that one more cross-connect completes; nil if it
// completes none.
func (c *Circles) Completed(x Cross) []string {
	loopback := c.of(x.Receive)
	if loopback == "" || x.Receive == x.Transmit {
		return nil
	}
	return c.back(x, loopback, map[string]bool{})
}

// back returns the interfaces on the way from a cross-connect to a loopback.
func (c *Circles) back(x Cross, to string, seen map[string]bool) []string {
	at := c.of(x.Transmit)
	if at == to {
		return []string{x.Receive, x.Transmit}
	}
	if at == "" || seen[at] {
		return nil
	}
	seen[at] = true
	for _, next := range c.from[at] {
		if rest := c.back(next, to, seen); rest != nil {
			return append([]string{x.Receive}, rest...)
		}
	}
	return nil
}

// CircleProblem says what is wrong with a circle.
func CircleProblem(circle []string) string {
	return fmt.Sprintf("a frame would go round for ever (%s), since VPP receives on a loopback what it sends on it or on its sub-interfaces, and VPP would stop responding",
		strings.Join(circle, " -> "))
}

// FloodForEver reports whether a bridge domain with two interfaces floods a frame for ever: both are
// sub-interfaces of loopbacks, or one of them is the loopback of the other. VPP does not flood to a
// loopback itself.
func (of LoopbackOf) FloodForEver(a, b string) bool {
	x, y := of(a), of(b)
	if x == "" || y == "" || a == b {
		return false
	}
	return x == y || a != x && b != y
}

// FloodProblem says what is wrong with a bridge domain that has another such member.
func FloodProblem(other string) string {
	return fmt.Sprintf("a frame would go round for ever, from and to %s: VPP receives on a loopback and its sub-interfaces what it floods to one of these, and would stop responding", other)
}

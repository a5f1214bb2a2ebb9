// Package drift compares values that a descriptor read from the southbound with
// the actual state as the scheduler knows it. It changes nothing and needs no
// lock: beliefs are a copy of the part of the graph that it needs.
package drift

package api

import "strings"

// Dependency is one condition for the existence of a value: that a value with
// the given Key exists or, if Key is empty, that any value selected by AnyOf
// does.
type Dependency struct {
	// Label says what is waited for ("interface-exists"); shown in the status of
	// a pending value.
	Label string
	Key   string
	AnyOf AnyOfDependency
}

// DependsOn returns the dependency on the value with the given key. Its label is the
// key; write a Dependency where statuses should show another label.
func DependsOn(key string) Dependency { return Dependency{Label: key, Key: key} }

// DependsOnAny returns the dependency on any value whose key has one of the prefixes;
// it needs at least one. Its label lists the prefixes ("tap/* or veth/*"). The slice
// must not be changed afterwards.
func DependsOnAny(prefixes ...string) Dependency {
	return Dependency{Label: strings.Join(prefixes, "* or ") + "*", AnyOf: AnyOfDependency{KeyPrefixes: prefixes}}
}

// AnyOfDependency is met by every key that has one of the prefixes and is
// selected by KeySelector. At least one of the two must be given.
type AnyOfDependency struct {
	KeyPrefixes []string
	// KeySelector is pure. It is tried on keys with one of the prefixes, without
	// prefixes on every key. Let many values share one function: where that is the
	// same variable, or a function with a name, they are looked at as one, and cost
	// what prefixes alone cost. Of functions made for each value (closures, values
	// of methods) it is not known that they do the same, so each is tried on each key
	// that comes or goes: take a prefix with few keys for those.
	KeySelector KeySelector
}

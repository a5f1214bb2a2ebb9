package api

import "strings"

// Dependency is one condition for the existence of a value: that a value with the Key exists
// or, if Key is empty, that any value selected by AnyOf does.
type Dependency struct {
	// Label is what the status of a pending value shows ("interface-exists").
	Label string
	Key   string
	AnyOf AnyOfDependency
}

// DependsOn returns the dependency on the value with the given key, which is its label.
func DependsOn(key string) Dependency { return Dependency{Label: key, Key: key} }

// DependsOnAny returns the dependency on any value whose key has one of the prefixes, at
// least one. Its label lists them ("tap/* or veth/*"). The slice must not be changed.
func DependsOnAny(prefixes ...string) Dependency {
	return Dependency{Label: strings.Join(prefixes, "* or ") + "*", AnyOf: AnyOfDependency{KeyPrefixes: prefixes}}
}

// AnyOfDependency is met by every key that has one of the prefixes, or any without prefixes,
// and is selected by KeySelector. At least one of the two must be given.
type AnyOfDependency struct {
	KeyPrefixes []string
	// KeySelector is pure. Values that share one function (the same variable, or a function
	// with a name) cost what prefixes alone cost. A function made for each value (a closure
	// or a method value) is tried on each key that comes or goes: take a prefix with few
	// keys for those.
	KeySelector KeySelector
}

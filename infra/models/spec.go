// Package models describes the types of configuration items: a Model ties a
// protobuf message to its place in the key space. Models are plain package
// variables; there is no global registry. The northbound receives its models
// as a Set.
package models

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// DefaultClass is the class of models that leave Spec.Class empty.
const DefaultClass = "config"

// Spec is the place of a model in the key space. The key prefix of a model is
// "<class>/<module>/<version>/<type>/", with the dots of module and type
// written as slashes.
type Spec struct {
	Module  string // "vpp", "vpp.l2", "linux.interfaces"
	Version string // "v2"; empty means "v0"
	Type    string // "interfaces", "bridge-domain"
	Class   string // "config" (the default) or "metrics"

	// Schema is the text of the .proto file with the message, which a program has from
	// go:embed. Clients show its comments, as generated code has none. It may be empty.
	Schema string
}

var (
	modulePattern  = regexp.MustCompile(`^[-a-z0-9_]+(\.[-a-z0-9_]+)?$`)
	versionPattern = regexp.MustCompile(`^v[0-9]+([-a-z0-9]+)?$`)
	classPattern   = regexp.MustCompile(`^[-a-z0-9_]+$`)
)

func (s Spec) withDefaults() Spec {
	s.Class, s.Version = cmp.Or(s.Class, DefaultClass), cmp.Or(s.Version, "v0")
	return s
}

// Validate returns an error if the specification is malformed.
func (s Spec) Validate() error {
	s = s.withDefaults()
	switch {
	case !modulePattern.MatchString(s.Module):
		return fmt.Errorf("model module %q: expected [-a-z0-9_]+ with at most one dot", s.Module)
	case !versionPattern.MatchString(s.Version):
		return fmt.Errorf("model version %q: expected v<number> with an optional suffix", s.Version)
	case !modulePattern.MatchString(s.Type):
		return fmt.Errorf("model type %q: expected [-a-z0-9_]+ with at most one dot", s.Type)
	case !classPattern.MatchString(s.Class):
		return fmt.Errorf("model class %q: expected [-a-z0-9_]+", s.Class)
	}
	return nil
}

// ModelName returns "<module>.<type>", the name in the generic API and in user
// interfaces ("vpp.interfaces", "vpp.l2.bridge-domain").
func (s Spec) ModelName() string { return s.Module + "." + s.Type }

// KeyPrefix returns the prefix of the keys of all items, with a trailing
// slash.
func (s Spec) KeyPrefix() string {
	s = s.withDefaults()
	slashes := func(part string) string { return strings.ReplaceAll(part, ".", "/") }
	return s.Class + "/" + slashes(s.Module) + "/" + s.Version + "/" + slashes(s.Type) + "/"
}

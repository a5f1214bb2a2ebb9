package kvstest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Sample is a value with its key, to try callbacks on.
type Sample struct {
	Key   string
	Value proto.Message
}

// Check tests what every descriptor promises: that the scheduler would accept
// them all together, that their selectors keep to their key space, and that
// the callbacks stand an empty value. See CheckSamples for more.
func Check(t testing.TB, descriptors ...*api.KVDescriptor) {
	t.Helper()
	report(t, check(descriptors))
}

// CheckSamples tests Check, and with every sample and every pair of samples of
// a descriptor: that callbacks are pure and leave their arguments alone, that
// dependencies and derived values are well-formed, that labels are unique, and
// that ValueComparator is an equivalence. Samples must be described by exactly
// one of the descriptors.
func CheckSamples(t testing.TB, samples []Sample, descriptors ...*api.KVDescriptor) {
	t.Helper()
	report(t, append(check(descriptors), checkSamples(samples, descriptors)...))
}

func report(t testing.TB, problems []error) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}

func check(descriptors []*api.KVDescriptor) []error {
	var problems []error
	if _, err := registry.New(nil).With(descriptors); err != nil {
		problems = append(problems, err)
	}
	for _, d := range descriptors {
		if d == nil || d.KeySelector == nil {
			continue // reported above
		}
		problems = append(problems, attempt(d.Name, "", func() []error { return checkScope(d) })...)
		if d.NBKeyPrefix != "" {
			problems = append(problems, checkEmpty(d)...)
		}
	}
	return problems
}

// attempt runs f and turns a panic into a problem.
func attempt(descriptor, key string, f func() []error) (problems []error) {
	defer func() {
		if p := recover(); p != nil {
			problems = append(problems, fmt.Errorf("descriptor %q: panic for key %q: %v", descriptor, key, p))
		}
	}()
	for _, err := range f() {
		problems = append(problems, fmt.Errorf("descriptor %q: %w", descriptor, err))
	}
	return problems
}

// checkScope tries keys without a model.
func checkScope(d *api.KVDescriptor) (problems []error) {
	foreign := []string{"", "/", "kvstest/foreign/key", "x" + d.NBKeyPrefix + "key", strings.TrimSuffix(d.NBKeyPrefix, "/") + "-other/key"}
	for _, key := range foreign {
		if key != d.NBKeyPrefix && d.KeySelector(key) {
			problems = append(problems, fmt.Errorf("KeySelector selects the foreign key %q: it must select the keys below %q and no others", key, d.NBKeyPrefix))
		}
	}
	return problems
}

// checkEmpty tries the callbacks with an empty message: whatever the
// northbound sends reaches them.
func checkEmpty(d *api.KVDescriptor) []error {
	typ, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(d.ValueTypeName))
	if err != nil {
		return []error{fmt.Errorf("descriptor %q: ValueTypeName %q: %w: it must be the full name of a message whose Go package is imported", d.Name, d.ValueTypeName, err)}
	}
	return checkValue(d, Sample{d.NBKeyPrefix + "kvstest", typ.New().Interface()})
}

func checkSamples(samples []Sample, descriptors []*api.KVDescriptor) (problems []error) {
	byDescriptor := map[*api.KVDescriptor][]Sample{}
	for _, s := range samples {
		d, err := describer(s.Key, descriptors)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		problems = append(problems, checkValue(d, s)...)
		byDescriptor[d] = append(byDescriptor[d], s)
	}
	for _, d := range descriptors {
		group := byDescriptor[d]
		problems = append(problems, attempt(d.Name, "", func() []error { return checkLabels(d, group) })...)
		problems = append(problems, attempt(d.Name, "", func() []error { return checkEquivalence(d, group) })...)
	}
	return problems
}

func describer(key string, descriptors []*api.KVDescriptor) (*api.KVDescriptor, error) {
	var found []*api.KVDescriptor
	var names []string
	for _, d := range descriptors {
		if d.KeySelector(key) {
			found = append(found, d)
			names = append(names, d.Name)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("no descriptor selects the key %q of a sample: look at its KeySelector", key)
	default:
		return nil, fmt.Errorf("key %q is selected by several descriptors: %s", key, strings.Join(names, ", "))
	}
}

// checkValue tests the pure callbacks with one value.
func checkValue(d *api.KVDescriptor, s Sample) []error {
	return attempt(d.Name, s.Key, func() (problems []error) {
		before := proto.Clone(s.Value)
		pure := func(name string, given bool, call func() any) {
			if given && !reflect.DeepEqual(call(), call()) {
				problems = append(problems, fmt.Errorf("%s is not pure: it answers the same question for %s in two ways; it must depend on its arguments only", name, s.Key))
			}
		}
		pure("KeySelector", true, func() any { return d.KeySelector(s.Key) })
		pure("KeyLabel", d.KeyLabel != nil, func() any { return d.KeyLabel(s.Key) })
		pure("Validate", d.Validate != nil, func() any { return text(d.Validate(s.Key, s.Value)) })
		pure("ValueComparator", d.ValueComparator != nil, func() any { return d.ValueComparator(s.Key, s.Value, s.Value) })
		pure("Dependencies", d.Dependencies != nil, func() any { return facts(d.Dependencies(s.Key, s.Value)) })
		pure("DerivedValues", d.DerivedValues != nil, func() any { return pieces(d.DerivedValues(s.Key, s.Value)) })
		pure("Identities", d.Identities != nil, func() any { return d.Identities(s.Key, s.Value) })
		if d.Vacate != nil {
			problems = append(problems, checkVacate(d, s)...)
		}
		if d.Dependencies != nil {
			problems = append(problems, checkDependencies(s.Key, d.Dependencies(s.Key, s.Value))...)
		}
		if d.DerivedValues != nil {
			problems = append(problems, checkDerived(s.Key, d.DerivedValues(s.Key, s.Value))...)
		}
		if diff := cmp.Diff(before, s.Value, protocmp.Transform()); diff != "" {
			problems = append(problems, fmt.Errorf("a callback changed the value of %s: messages are shared and must not be changed, clone them (-before +after):\n%s", s.Key, diff))
		}
		return problems
	})
}

// checkVacate: the value gives up all of its identities for others of its own.
func checkVacate(d *api.KVDescriptor, s Sample) (problems []error) {
	before := d.Identities(s.Key, s.Value)
	for _, id := range d.Identities(s.Key, d.Vacate(s.Key, s.Value)) {
		if slices.Contains(before, id) {
			problems = append(problems, fmt.Errorf("callback Vacate: %s keeps the identity %q: it must take a temporary one", s.Key, id))
		}
	}
	return problems
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// facts are dependencies without their functions, which cannot be compared.
func facts(deps []api.Dependency) []string {
	var list []string
	for _, d := range deps {
		list = append(list, fmt.Sprint(d.Label, d.Key, d.AnyOf.KeyPrefixes, d.AnyOf.KeySelector != nil))
	}
	return list
}

func pieces(derived []api.KeyValuePair) []string {
	var list []string
	for _, kv := range derived {
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(kv.Value)
		list = append(list, fmt.Sprintf("%s %x %v", kv.Key, data, err))
	}
	return list
}

func checkDependencies(key string, deps []api.Dependency) (problems []error) {
	labels := map[string]bool{}
	fail := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("dependencies of %s: "+format, append([]any{key}, args...)...))
	}
	for _, d := range deps {
		anyOf := len(d.AnyOf.KeyPrefixes) > 0 || d.AnyOf.KeySelector != nil
		switch {
		case d.Label == "":
			fail("one has no Label: it is what a pending value is said to wait for")
		case labels[d.Label]:
			fail("the label %q is given twice: the two could not be distinguished", d.Label)
		}
		labels[d.Label] = true
		switch {
		case d.Key == "" && !anyOf:
			fail("%q has neither Key nor AnyOf: nothing could ever meet it", d.Label)
		case d.Key != "" && anyOf:
			fail("%q has both Key and AnyOf: make it two dependencies", d.Label)
		case d.Key == "" && d.Creation:
			fail("%q has Creation, which needs a Key", d.Label)
		case d.Key == "" && d.Recreates != nil:
			fail("%q has Recreates, which needs a Key", d.Label)
		case d.Key == key:
			fail("%q is the value itself: it would wait for ever", d.Label)
		}
	}
	return problems
}

func checkDerived(key string, derived []api.KeyValuePair) (problems []error) {
	seen := map[string]bool{key: true}
	for _, kv := range derived {
		switch {
		case kv.Key == "":
			problems = append(problems, fmt.Errorf("a derived value of %s has no key: it would be left out", key))
		case seen[kv.Key]:
			problems = append(problems, fmt.Errorf("derived values of %s: the key %q is taken twice", key, kv.Key))
		case kv.Value == nil || !kv.Value.ProtoReflect().IsValid():
			problems = append(problems, fmt.Errorf("the derived value %q of %s is nil: derive an empty message where there is nothing to say", kv.Key, key))
		}
		seen[kv.Key] = true
	}
	return problems
}

func checkLabels(d *api.KVDescriptor, samples []Sample) (problems []error) {
	if d.KeyLabel == nil {
		return nil
	}
	keys := map[string]string{}
	for _, s := range samples {
		label := d.KeyLabel(s.Key)
		if other, taken := keys[label]; taken && other != s.Key {
			problems = append(problems, fmt.Errorf("KeyLabel: keys %q and %q have the same label %q: their metadata would overwrite each other", other, s.Key, label))
		}
		keys[label] = s.Key
	}
	return problems
}

// checkEquivalence: every value equals itself, in both directions, and what
// equals the same equals each other.
func checkEquivalence(d *api.KVDescriptor, samples []Sample) (problems []error) {
	if d.ValueComparator == nil {
		return nil
	}
	equal := func(a, b Sample) bool { return d.ValueComparator(a.Key, a.Value, b.Value) }
	for _, a := range samples {
		if !equal(a, a) {
			problems = append(problems, fmt.Errorf("ValueComparator: the value of %s does not equal itself", a.Key))
		}
		for _, b := range samples {
			if d.ValueComparator(a.Key, a.Value, b.Value) != d.ValueComparator(a.Key, b.Value, a.Value) {
				problems = append(problems, fmt.Errorf("ValueComparator: the order of %v and %v makes a difference", a.Value, b.Value))
			}
			for _, c := range samples {
				if equal(a, b) && d.ValueComparator(a.Key, b.Value, c.Value) && !equal(a, c) {
					problems = append(problems, errors.New("ValueComparator is not transitive: "+
						fmt.Sprintf("%v, %v, %v", a.Value, b.Value, c.Value)))
				}
			}
		}
	}
	return problems
}

// Package drift compares values that a descriptor read from the southbound with
// the actual state as the scheduler knows it. It changes nothing and needs no
// lock: beliefs are a copy of the part of the graph that it needs.
package drift

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Belief is what the scheduler holds of one value.
type Belief struct {
	Key        string
	Desc       *registry.Descriptor
	Want, Have *registry.Value
	Derived    []Belief
}

// Believe copies the recorded actual state of a base value.
func Believe(n *graph.Node) Belief {
	b := Belief{Key: n.Key, Desc: n.Desc, Want: n.Want, Have: n.Have}
	for child := range n.Derived {
		b.Derived = append(b.Derived, Belief{Key: child.Key, Desc: child.Desc, Want: child.Want, Have: child.Have})
	}
	return b
}

// foreign reports whether the value belongs to the southbound, which may change it
// as it likes.
func (b *Belief) foreign() bool {
	if b.Want != nil {
		return b.Want.FromSB || b.Want.Observed
	}
	return b.Have != nil && b.Have.FromSB
}

// waiting lists the derived values that wait for something.
func (b *Belief) waiting() (keys []string) {
	for i := range b.Derived {
		if d := &b.Derived[i]; d.Have == nil && d.Want != nil {
			keys = append(keys, d.Key)
		}
	}
	return keys
}

// comparison is one descriptor being compared.
type comparison struct {
	reg    *registry.Registry
	desc   *registry.Descriptor
	drifts []api.Drift
	values int
}

// Compare compares the values that a descriptor found with the recorded actual
// state of its base values. It returns the drifts, in no order, and how many
// values were compared. The error reports that the descriptor panicked over a
// value, or that its result is unusable.
func Compare(reg *registry.Registry, d *registry.Descriptor, believed []Belief, found []api.KVWithMetadata) (drifts []api.Drift, values int, err error) {
	c := &comparison{reg: reg, desc: d}
	at := make(map[string]int, len(found))
	for i := range found {
		kv := &found[i]
		if _, twice := at[kv.Key]; twice || kv.Value == nil || !d.KeySelector(kv.Key) {
			return nil, 0, fmt.Errorf("retrieved key %q twice, without a value, or without selecting it", kv.Key)
		}
		at[kv.Key] = i
	}
	parts := foreignParts(found)
	for i := range believed {
		b := &believed[i]
		j, ok := at[b.Key]
		delete(at, b.Key)
		switch {
		case b.foreign():
		case ok:
			reported := len(c.drifts)
			if err := c.found(b, &found[j]); err != nil {
				return nil, 0, err
			}
			c.foreign(b, &found[j], parts[b.Key], reported)
		case b.Have != nil:
			c.missing(b, "")
		}
	}
	for _, i := range at { // unknown to the scheduler
		if kv := &found[i]; kv.Origin.Marked() {
			c.values++
			c.add(api.Drift{Key: kv.Key, Descriptor: d.Name, Kind: api.DriftUnexpected, Found: api.JSONValue{Message: kv.Value}})
		}
	}
	return c.drifts, c.values, nil
}

// foreignParts returns what others added to values, by their keys.
func foreignParts(found []api.KVWithMetadata) map[string][]string {
	parts := map[string][]string{}
	for i := range found {
		if object, ok := api.ForeignTo(found[i].Key); ok {
			parts[object] = append(parts[object], api.Unmodeled(found[i].Value)...)
		}
	}
	return parts
}

// foreign reports what others added to a value that was found. Its drifts begin at an index.
func (c *comparison) foreign(b *Belief, kv *api.KVWithMetadata, parts []string, reported int) {
	if len(parts) == 0 || b.Have == nil || b.Want == nil {
		return
	}
	field := api.FieldDiff{Field: api.ForeignField, Found: strings.Join(parts, ", ")}
	for i := range c.drifts[reported:] {
		if d := &c.drifts[reported+i]; d.Key == b.Key {
			d.Fields = append(d.Fields, field)
			return
		}
	}
	c.add(api.Drift{
		Key: b.Key, Descriptor: c.desc.Name, Kind: api.DriftDiffers, Believed: api.JSONValue{Message: b.Have.Msg},
		Found: api.JSONValue{Message: kv.Value}, Fields: []api.FieldDiff{field},
	})
}

func (c *comparison) add(d api.Drift) { c.drifts = append(c.drifts, d) }

func (c *comparison) missing(b *Belief, base string) {
	c.values++
	c.add(api.Drift{Key: b.Key, Descriptor: b.Desc.NameOf(), Base: base, Kind: api.DriftMissing, Believed: api.JSONValue{Message: b.Have.Msg}})
}

// found compares a base value that is there.
func (c *comparison) found(b *Belief, kv *api.KVWithMetadata) error {
	if b.Want == nil && b.Have == nil && !kv.Origin.Marked() {
		return nil // a failure is remembered of it, nothing else; it may be anyone's
	}
	c.values++
	if b.Have == nil || b.Want == nil {
		c.add(api.Drift{Key: b.Key, Descriptor: c.desc.Name, Kind: api.DriftUnexpected, Found: api.JSONValue{Message: kv.Value}})
		return nil
	}
	if proto.Equal(b.Have.Msg, kv.Value) || b.Desc.Lacking(b.Key, kv.Value, b.Have.Msg, b.waiting()) {
		c.values += len(b.Derived)
		return nil
	}
	same, err := b.Desc.Compare(b.Key, kv.Value, b.Have.Msg)
	if err != nil {
		return err
	}
	if !same {
		c.add(api.Drift{
			Key: b.Key, Descriptor: c.desc.Name, Kind: api.DriftDiffers,
			Believed: api.JSONValue{Message: b.Have.Msg}, Found: api.JSONValue{Message: kv.Value}, Fields: Differing(b.Desc, b.Key, b.Have.Msg, kv.Value),
		})
	}
	v, err := c.reg.Read(b.Key, b.Desc, kv.Value)
	if err != nil {
		return err
	}
	return c.derived(b, v.Derived)
}

// derived compares the values derived from a base that is not just as it was
// believed to be. Properties follow from their base and are not compared.
func (c *comparison) derived(b *Belief, found []registry.Derived) error {
	there := make(map[string]*registry.Derived, len(found))
	for i := range found {
		there[found[i].Key] = &found[i]
	}
	for i := range b.Derived {
		child := &b.Derived[i]
		dv := there[child.Key]
		delete(there, child.Key)
		switch {
		case child.Desc.IsProperty() || child.Have == nil:
			// A value that waits is often returned with its base all the same.
		case dv == nil:
			c.missing(child, b.Key)
		default:
			if err := c.derivedFound(b, child, dv); err != nil {
				return err
			}
		}
	}
	for _, dv := range there {
		if !dv.Desc.IsProperty() {
			c.values++
			c.add(api.Drift{Key: dv.Key, Descriptor: dv.Desc.Name, Base: b.Key, Kind: api.DriftUnexpected, Found: api.JSONValue{Message: dv.Value.Msg}})
		}
	}
	return nil
}

func (c *comparison) derivedFound(b, child *Belief, dv *registry.Derived) error {
	c.values++
	if same, err := child.Desc.Compare(child.Key, dv.Value.Msg, child.Have.Msg); same || err != nil {
		return err
	}
	c.add(api.Drift{
		Key: child.Key, Descriptor: child.Desc.Name, Base: b.Key, Kind: api.DriftDiffers,
		Believed: api.JSONValue{Message: child.Have.Msg}, Found: api.JSONValue{Message: dv.Value.Msg}, Fields: Differing(child.Desc, child.Key, child.Have.Msg, dv.Value.Msg),
	})
	return nil
}

// Differing lists the fields in which two values differ that are not equivalent
// for their descriptor. Differences that it does not mind by themselves, such as
// an address that the southbound chose, are left out.
func Differing(d *registry.Descriptor, key string, believed, found proto.Message) (fields []api.FieldDiff) {
	all := Fields(believed, found)
	from, to := believed.ProtoReflect(), found.ProtoReflect()
	if from.Descriptor() != to.Descriptor() {
		return all
	}
	var minded []api.FieldDiff
	for _, diff := range all {
		if diff.Field == api.UnmodeledField {
			minded = append(minded, diff)
			continue
		}
		path := strings.FieldsFunc(diff.Field, func(r rune) bool { return r == '.' || r == '[' })
		field := from.Descriptor().Fields().ByName(protoreflect.Name(path[0]))
		alone := proto.Clone(believed)
		if to.Has(field) {
			alone.ProtoReflect().Set(field, to.Get(field))
		} else {
			alone.ProtoReflect().Clear(field)
		}
		same, err := d.Compare(key, alone, believed)
		if err != nil { // the descriptor does not know such a value
			return all
		}
		if !same {
			minded = append(minded, diff)
		}
	}
	if len(minded) == 0 { // it is their combination
		return all
	}
	return minded
}

// Common returns the drifts of b whose key drifts in the same way in a.
func Common(a, b []api.Drift) []api.Drift {
	type kind struct {
		key  string
		kind api.DriftKind
	}
	in := make(map[kind]bool, len(a))
	for i := range a {
		in[kind{a[i].Key, a[i].Kind}] = true
	}
	return slices.DeleteFunc(b, func(d api.Drift) bool { return !in[kind{d.Key, d.Kind}] })
}

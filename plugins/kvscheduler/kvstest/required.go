package kvstest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// CheckRequired tests that the schema says which fields are required (ligato.required) or required on a
// condition (ligato.required_if), as Validate does: it removes each field from each sample, one at a time, at
// every depth. A field whose absence Validate always refuses, with an error that names the field, must be
// declared one way or the other. A sample without a field that is declared required must be refused. Samples
// that are invalid, or that no descriptor selects, are skipped.
func CheckRequired(t testing.TB, samples []Sample, descriptors ...*api.KVDescriptor) {
	t.Helper()
	report(t, checkRequired(samples, descriptors))
}

// omissions are the results of removing a field.
type omissions struct {
	field           protoreflect.FieldDescriptor
	total, accepted int
	named           int   // the error names the field
	err             error // the last one that names it
	example         string
}

func checkRequired(samples []Sample, descriptors []*api.KVDescriptor) (problems []error) {
	byField := map[protoreflect.FullName]*omissions{}
	for _, s := range samples {
		d, err := describer(s.Key, descriptors)
		if err != nil || d.Validate == nil || d.Validate(s.Key, s.Value) != nil {
			continue
		}
		v := proto.Clone(s.Value)
		omit(v.ProtoReflect(), "", func(f protoreflect.FieldDescriptor, path string) {
			o := byField[f.FullName()]
			if o == nil {
				o = &omissions{field: f}
				byField[f.FullName()] = o
			}
			o.add(s.Key+" without "+path, path, d.Validate(s.Key, v))
		})
	}
	for _, name := range slices.Sorted(maps.Keys(byField)) {
		if err := byField[name].check(); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

func (o *omissions) add(example, path string, err error) {
	o.total++
	switch {
	case err == nil:
		o.accepted++
		o.example = example
	case namesField(err, path):
		o.named++
		o.err = err
	}
}

func (o *omissions) check() error {
	a := models.Annotation(o.field)
	switch declared := a.NeedsValue(); {
	case declared && o.accepted > 0:
		return fmt.Errorf("%s is declared required, but %s is valid", o.field.FullName(), o.example)
	case !declared && a.RequiredIf == "" && o.named == o.total:
		return fmt.Errorf("%s: no sample is valid without it: %w; declare it in the schema with (ligato.required) or (ligato.required_if)", o.field.FullName(), o.err)
	}
	return nil
}

// namesField reports whether err, or an error that is joined in it, is about the field.
func namesField(err error, path string) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return namesField(e, path) })
	}
	var invalid *api.InvalidValueError
	return errors.As(err, &invalid) && slices.Contains(invalid.Fields(), path)
}

// omit calls try with each field removed from m, one at a time.
func omit(m protoreflect.Message, prefix string, try func(protoreflect.FieldDescriptor, string)) {
	var set []protoreflect.FieldDescriptor
	m.Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		set = append(set, f)
		return true
	})
	for _, f := range set {
		path, before := prefix+string(f.Name()), proto.Clone(m.Interface()).ProtoReflect()
		m.Clear(f)
		try(f, path)
		m.Set(f, before.Get(f))
		switch v := m.Get(f); {
		case f.IsMap() || f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				omit(v.List().Get(i).Message(), fmt.Sprintf("%s[%d].", path, i), try)
			}
		default:
			omit(v.Message(), path+".", try)
		}
	}
}

package models

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/proto/ligato"
)

// Annotations are the constraints in the options (ligato_options) of the fields of a message type and
// of all messages in it. They are immutable.
type Annotations struct {
	// Message is the type.
	Message protoreflect.MessageDescriptor
	// Fields are the annotated fields, and the fields with messages that have annotated fields.
	Fields []AnnotatedField

	oneofs []oneof
}

// AnnotatedField is a field with an annotation, or with messages that have annotated fields.
type AnnotatedField struct {
	protoreflect.FieldDescriptor
	// Form is the form of addresses; nil if the field is not for addresses.
	Form *AddressForm
	// Limits are the limits of an integer; nil: none.
	Limits *Limits
	// Required is the expected value in words, for the error of a message without the field. Empty: the
	// field is optional, unless Limits exclude 0.
	Required string
	// RequiredIf is the condition in words on which the field is required.
	RequiredIf string
	// Within are the annotations of messages in the field; nil for other fields.
	Within *Annotations
	// Addresses reports that the field, or a message in it, is for addresses. It is false for maps.
	Addresses bool

	lenient bool // the descriptor checks the field
	kind    fieldKind
	signed  bool // an integer
}

// Limits are the smallest and the largest value of a field.
type Limits struct {
	Min int64
	Max uint64
}

// fieldKind is how the values of a field are found.
type fieldKind int

const (
	plain    fieldKind = iota
	optional           // it is known whether the field is set
	member             // of a oneof
	list
	table
)

// oneof is a oneof with annotated fields.
type oneof struct {
	protoreflect.OneofDescriptor
	fields map[protoreflect.FieldNumber]*AnnotatedField
}

// Annotation returns the constraints in the options of a field, without the messages in it.
func Annotation(fd protoreflect.FieldDescriptor) AnnotatedField {
	o, _ := proto.GetExtension(fd.Options(), ligato.E_LigatoOptions).(*ligato.LigatoOptions)
	lenient, _ := proto.GetExtension(fd.Options(), ligato.E_Lenient).(bool)
	required, _ := proto.GetExtension(fd.Options(), ligato.E_Required).(string)
	condition, _ := proto.GetExtension(fd.Options(), ligato.E_RequiredIf).(string)
	f := AnnotatedField{FieldDescriptor: fd, Required: required, RequiredIf: condition, lenient: lenient}
	switch fd.Kind() {
	case protoreflect.StringKind:
		f.Form = forms[o.GetType()]
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		f.Limits = limitsOf(o, math.MaxUint32)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		f.Limits = limitsOf(o, math.MaxUint64)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		f.Limits, f.signed = limitsOf(o, math.MaxInt32), true
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		f.Limits, f.signed = limitsOf(o, math.MaxInt64), true
	}
	switch of := fd.ContainingOneof(); {
	case fd.IsMap():
		f.kind = table
	case fd.IsList():
		f.kind = list
	case of != nil && !of.IsSynthetic():
		f.kind = member
	case fd.HasPresence():
		f.kind = optional
	}
	return f
}

// limitsOf returns the limits of an integer; largest is the largest value of its type.
func limitsOf(o *ligato.LigatoOptions, largest uint64) *Limits {
	r := o.GetIntRange()
	switch {
	case r == nil:
		return nil
	case r.GetMaximum() == 0 && r.GetMinimum() >= 0:
		return &Limits{r.GetMinimum(), largest}
	}
	return &Limits{r.GetMinimum(), r.GetMaximum()}
}

// AnnotationsOf compiles the annotations of a message type.
func AnnotationsOf(d protoreflect.MessageDescriptor) *Annotations {
	return annotationsOf(d, map[protoreflect.FullName]*Annotations{})
}

func annotationsOf(d protoreflect.MessageDescriptor, known map[protoreflect.FullName]*Annotations) *Annotations {
	if a := known[d.FullName()]; a != nil {
		return a
	}
	a := &Annotations{Message: d}
	known[d.FullName()] = a
	isAddress := func(f AnnotatedField) bool { return f.Form != nil }
	for i := range d.Fields().Len() {
		f := Annotation(d.Fields().Get(i))
		f.Addresses = f.kind != table && f.has(isAddress, nil)
		if !f.has(func(f AnnotatedField) bool { return f.Limits != nil || f.Required != "" || isAddress(f) }, nil) {
			continue
		}
		if of := f.messages(); of != nil {
			f.Within = annotationsOf(of, known)
		}
		a.Fields = append(a.Fields, f)
	}
	for i := range a.Fields {
		a.addMember(&a.Fields[i])
	}
	return a
}

func (a *Annotations) addMember(f *AnnotatedField) {
	if f.kind != member {
		return
	}
	of := f.ContainingOneof()
	i := slices.IndexFunc(a.oneofs, func(o oneof) bool { return o.OneofDescriptor == of })
	if i < 0 {
		i, a.oneofs = len(a.oneofs), append(a.oneofs, oneof{of, map[protoreflect.FieldNumber]*AnnotatedField{}})
	}
	a.oneofs[i].fields[f.Number()] = f
}

// messages returns the type of the messages in the field; nil if it has none.
func (f AnnotatedField) messages() protoreflect.MessageDescriptor {
	if f.kind == table {
		return f.MapValue().Message()
	}
	return f.Message()
}

// has reports whether the field is one, or a message in it has one. Types that were seen are skipped.
func (f AnnotatedField) has(one func(AnnotatedField) bool, seen []protoreflect.FullName) bool {
	of := f.messages()
	if of == nil || one(f) {
		return one(f)
	}
	if slices.Contains(seen, of.FullName()) {
		return false
	}
	seen = append(seen, of.FullName())
	for i := range of.Fields().Len() {
		if Annotation(of.Fields().Get(i)).has(one, seen) {
			return true
		}
	}
	return false
}

// Violation is a field with a value that its annotation excludes.
type Violation struct {
	// Field names the field as the schema does, with dots and with the indexes of lists:
	// "rules[0].ip_rule.icmp.first".
	Field string
	// Err names the value, and the range or the form that the annotation allows.
	Err error
	// Missing reports that the field is required and not set.
	Missing bool
}

// NeedsValue reports that a message is invalid without the field.
func (f *AnnotatedField) NeedsValue() bool {
	return f.Required != "" || f.Limits != nil && f.Limits.Min > 0 && f.kind == plain && !f.lenient
}

// missing returns the error of a required field that is not set.
func (f *AnnotatedField) missing() error {
	switch {
	case f.kind == list || f.kind == table || f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind:
		return fmt.Errorf("empty, expected %s", f.Required)
	case f.Message() != nil:
		return fmt.Errorf("missing, expected %s", f.Required)
	case f.Enum() != nil:
		return fmt.Errorf("%s, expected %s", f.Enum().Values().ByNumber(0).Name(), f.Required)
	}
	return fmt.Errorf("%v, expected %s", f.Default().Interface(), f.Required)
}

// Violations returns the fields of a message that are required and not set, or have values that their
// annotations exclude. An empty text is no address, but stands for none, so that only lists must not
// contain it. The values of fields that are lenient are not checked. The cost is linear in the fields that
// are set or required.
func (a *Annotations) Violations(m protoreflect.Message) (all []Violation) {
	for i := range a.Fields {
		f := &a.Fields[i]
		switch {
		case f.lacksIn(m):
			all = append(all, Violation{Field: string(f.Name()), Err: f.missing(), Missing: true})
		case !f.checkedIn(m):
		case f.kind == list:
			elements := m.Get(f.FieldDescriptor).List()
			for n := range elements.Len() {
				if found := f.check(elements.Get(n)); found != nil {
					all = append(all, within(fmt.Sprintf("%s[%d]", f.Name(), n), found)...)
				}
			}
		case f.kind == table:
			all = append(all, f.checkTable(m.Get(f.FieldDescriptor).Map())...)
		default:
			all = append(all, within(string(f.Name()), f.check(m.Get(f.FieldDescriptor)))...)
		}
	}
	for i := range a.oneofs {
		if set := m.WhichOneof(a.oneofs[i].OneofDescriptor); set != nil {
			if f := a.oneofs[i].fields[set.Number()]; f != nil {
				all = append(all, within(string(f.Name()), f.check(m.Get(set)))...)
			}
		}
	}
	return all
}

// lacksIn reports that the field is required, and not set in a message.
func (f *AnnotatedField) lacksIn(m protoreflect.Message) bool {
	return f.Required != "" && !m.Has(f.FieldDescriptor)
}

// checkedIn reports that the value of the field in a message is checked, and not only that there is one.
// Members of oneofs are checked by the oneof.
func (f *AnnotatedField) checkedIn(m protoreflect.Message) bool {
	if f.lenient || f.Within == nil && f.Limits == nil && f.Form == nil {
		return false
	}
	return f.kind == plain || f.kind != member && m.Has(f.FieldDescriptor)
}

// checkTable checks the messages in a map.
func (f *AnnotatedField) checkTable(messages protoreflect.Map) (all []Violation) {
	messages.Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
		all = append(all, within(fmt.Sprintf("%s[%v]", f.Name(), key), f.check(v))...)
		return true
	})
	return all
}

// within adds the field of a message to the violations found in it.
func within(field string, found []Violation) []Violation {
	for i, v := range found {
		found[i].Field = field
		if v.Field != "" {
			found[i].Field += "." + v.Field
		}
	}
	return found
}

// check checks a value of the field, or an element of it.
func (f *AnnotatedField) check(v protoreflect.Value) []Violation {
	var err error
	switch {
	case f.Within != nil:
		return f.Within.Violations(v.Message())
	case f.Limits != nil:
		err = f.checkNumber(v)
	default:
		err = f.checkAddress(v.String())
	}
	if err == nil {
		return nil
	}
	return []Violation{{Err: err}}
}

func (f *AnnotatedField) checkNumber(v protoreflect.Value) error {
	low, high := f.Limits.Min, f.Limits.Max
	if f.signed {
		if n := v.Int(); n < low || n > 0 && uint64(n) > high {
			return fmt.Errorf("%d, expected %d to %d", n, low, high)
		}
	} else if n := v.Uint(); n > high || low > 0 && n < uint64(low) {
		return fmt.Errorf("%d, expected %d to %d", n, low, high)
	}
	return nil
}

func (f *AnnotatedField) checkAddress(text string) error {
	if text == "" && f.kind != list || f.Form.accepts(text) {
		return nil
	}
	return fmt.Errorf("%q%s", text, f.Form.expected)
}

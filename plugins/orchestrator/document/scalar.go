package document

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

// scalar reads a number, a text, a truth value, bytes or an enumeration.
func (d *decoder) scalar(f *fieldPlan, n *yaml.Node, p *path) (v protoreflect.Value, ok bool) {
	target, ok := d.enter(n, p)
	if !ok {
		return v, false
	}
	defer d.leave(n)
	if target.Kind != yaml.ScalarNode {
		d.fail(n, p, "expected %s, got %s", expected(f), describe(n))
		return v, false
	}
	if len(target.Value) > maxScalar {
		d.fail(n, p, "a value of %d bytes, expected at most %d", len(target.Value), maxScalar)
		return v, false
	}
	var err error
	switch f.kind {
	case protoreflect.StringKind:
		v, err = text(target)
	case protoreflect.BoolKind:
		v, err = parseBool(target)
	case protoreflect.BytesKind:
		v, err = parseBytes(target)
	case protoreflect.EnumKind:
		v, err = enum(f.Enum(), target)
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		v, err = float(f, target)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		v, err = unsigned(f, target)
	default:
		v, err = signed(f, target)
	}
	switch {
	case err == nil:
		return v, true
	case logging.IsSecret(f.FieldDescriptor):
		d.fail(n, p, "expected %s in quotes (what is there may be a secret, and is not shown)", expected(f))
	default:
		d.fail(n, p, "%v", err)
	}
	return v, false
}

func mismatch(want string, n *yaml.Node) error {
	return fmt.Errorf("expected %s, got %s", want, describe(n))
}

// expected says what a field holds.
func expected(f *fieldPlan) string {
	switch f.kind {
	case protoreflect.StringKind:
		return "a text"
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.BytesKind:
		return "bytes in base64"
	case protoreflect.EnumKind:
		return oneOf(f.Enum())
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "a number"
	}
	low, high := limits(f)
	return fmt.Sprintf("a whole number from %d to %d", low, high)
}

func text(n *yaml.Node) (v protoreflect.Value, err error) {
	switch n.Tag {
	case "!!str", "!!timestamp":
		return protoreflect.ValueOfString(n.Value), nil
	case "!!null":
		return v, mismatch("a text", n)
	}
	return v, fmt.Errorf("expected a text, got %s; put it in quotes", describe(n))
}

func parseBool(n *yaml.Node) (v protoreflect.Value, err error) {
	if n.Tag == "!!bool" {
		if b, err := strconv.ParseBool(strings.ToLower(n.Value)); err == nil {
			return protoreflect.ValueOfBool(b), nil
		}
	}
	hint := ""
	switch strings.ToLower(n.Value) {
	case "true", "false":
		hint = "; leave the quotes out"
	case "yes", "on", "1":
		hint = "; did you mean true?"
	case "no", "off", "0":
		hint = "; did you mean false?"
	}
	return v, fmt.Errorf("%w%s", mismatch("true or false", n), hint)
}

func parseBytes(n *yaml.Node) (v protoreflect.Value, err error) {
	if n.Tag == "!!str" || n.Tag == "!!binary" {
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
			if b, err := e.DecodeString(n.Value); err == nil {
				return protoreflect.ValueOfBytes(b), nil
			}
		}
	}
	return v, mismatch("bytes in base64", n)
}

// enum accepts the name of a value or its number.
func enum(ed protoreflect.EnumDescriptor, n *yaml.Node) (v protoreflect.Value, err error) {
	values := ed.Values()
	var found protoreflect.EnumValueDescriptor
	switch n.Tag {
	case "!!str":
		found = values.ByName(protoreflect.Name(n.Value))
	case "!!int":
		if i, err := strconv.ParseInt(n.Value, 0, 32); err == nil {
			found = values.ByNumber(protoreflect.EnumNumber(i))
		}
	}
	if found == nil {
		var names []string
		for i := range values.Len() {
			names = append(names, string(values.Get(i).Name()))
		}
		return v, fmt.Errorf("expected %s, got %s%s", oneOf(ed), describe(n), suggestion(n.Value, names))
	}
	return protoreflect.ValueOfEnum(found.Number()), nil
}

func oneOf(ed protoreflect.EnumDescriptor) string {
	var names []string
	for i := range ed.Values().Len() {
		if v := ed.Values().Get(i); v.Number() != 0 || !strings.HasPrefix(string(v.Name()), "UNDEFINED") {
			names = append(names, string(v.Name()))
		}
	}
	return "one of " + strings.Join(names, ", ")
}

func float(f *fieldPlan, n *yaml.Node) (v protoreflect.Value, err error) {
	bits := 64
	if f.kind == protoreflect.FloatKind {
		bits = 32
	}
	value := n.Value
	switch value {
	case ".inf", "+.inf", ".Inf", "Infinity":
		value = "inf"
	case "-.inf", "-.Inf", "-Infinity":
		value = "-inf"
	case ".nan", ".NaN":
		value = "nan"
	}
	x, err := strconv.ParseFloat(value, bits)
	if err != nil || n.Tag == "!!bool" || n.Tag == "!!null" {
		return v, mismatch("a number", n)
	}
	if bits == 32 {
		return protoreflect.ValueOfFloat32(float32(x)), nil
	}
	return protoreflect.ValueOfFloat64(x), nil
}

// limits returns the limits of an integer field, from its type and its schema.
func limits(f *fieldPlan) (low int64, high uint64) {
	switch f.kind {
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		high = math.MaxUint32
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		high = math.MaxUint64
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		low, high = math.MinInt64, math.MaxInt64
	default:
		low, high = math.MinInt32, math.MaxInt32
	}
	if f.bounds != nil {
		low, high = max(low, f.bounds.Min), min(high, f.bounds.Max)
	}
	return low, high
}

// whole returns the digits of a whole number, which may be written as text, in
// hexadecimal, or as a fraction of zero.
func whole(n *yaml.Node) (digits string, ok bool) {
	switch n.Tag {
	case "!!int":
		return n.Value, true
	case "!!str":
		_, err := strconv.ParseInt(n.Value, 10, 64)
		_, errU := strconv.ParseUint(n.Value, 10, 64)
		return n.Value, err == nil || errU == nil
	case "!!float":
		x, err := strconv.ParseFloat(n.Value, 64)
		if err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return strconv.FormatInt(int64(x), 10), true
		}
	}
	return "", false
}

func unsigned(f *fieldPlan, n *yaml.Node) (v protoreflect.Value, err error) {
	digits, ok := whole(n)
	x, err := strconv.ParseUint(strings.TrimPrefix(digits, "+"), base(n), 64)
	low, high := limits(f)
	if !ok || err != nil || x > high || low > 0 && x < uint64(low) {
		return v, mismatch(expected(f), n)
	}
	if f.kind == protoreflect.Uint32Kind || f.kind == protoreflect.Fixed32Kind {
		return protoreflect.ValueOfUint32(uint32(x)), nil
	}
	return protoreflect.ValueOfUint64(x), nil
}

func signed(f *fieldPlan, n *yaml.Node) (v protoreflect.Value, err error) {
	digits, ok := whole(n)
	x, err := strconv.ParseInt(digits, base(n), 64)
	low, high := limits(f)
	if !ok || err != nil || x < low || x > 0 && uint64(x) > high {
		return v, mismatch(expected(f), n)
	}
	switch f.kind {
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(x), nil
	}
	return protoreflect.ValueOfInt32(int32(x)), nil
}

// base is how the digits are to be read: in YAML 0x10 and 0o20 are numbers.
func base(n *yaml.Node) int {
	if n.Tag == "!!int" {
		return 0
	}
	return 10
}

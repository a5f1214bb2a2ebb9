package gotemplate

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"net/url"
	"reflect"
	"strings"
	"time"
)

// builtins are the predefined functions of text/template, without "call" and "js".
var builtins = map[string]any{
	"and":      func(all ...reflect.Value) (reflect.Value, error) { return reflect.Value{}, errNoArguments },
	"or":       func(all ...reflect.Value) (reflect.Value, error) { return reflect.Value{}, errNoArguments },
	"not":      func(v reflect.Value) bool { return !isTrue(v) },
	"print":    fmt.Sprint,
	"printf":   fmt.Sprintf,
	"println":  fmt.Sprintln,
	"html":     func(all ...reflect.Value) string { return html.EscapeString(joined(all)) },
	"urlquery": func(all ...reflect.Value) string { return url.QueryEscape(joined(all)) },
	"len":      length,
	"index":    index,
	"slice":    slice,
	"eq":       equal,
	"ne":       func(a, b reflect.Value) (bool, error) { return negated(equal(a, b)) },
	"lt":       func(a, b reflect.Value) (bool, error) { return ordered(a, b, func(c int) bool { return c < 0 }) },
	"le":       func(a, b reflect.Value) (bool, error) { return ordered(a, b, func(c int) bool { return c <= 0 }) },
	"gt":       func(a, b reflect.Value) (bool, error) { return ordered(a, b, func(c int) bool { return c > 0 }) },
	"ge":       func(a, b reflect.Value) (bool, error) { return ordered(a, b, func(c int) bool { return c >= 0 }) },
}

var errNoArguments = errors.New("expected at least one argument")

// methods are the methods of times and durations that templates can call, besides String and Error.
var methods = map[reflect.Type]map[string]any{
	reflect.TypeFor[time.Time](): {
		"Add": time.Time.Add, "After": time.Time.After, "Before": time.Time.Before, "Equal": time.Time.Equal, "Format": time.Time.Format,
		"IsZero": time.Time.IsZero, "Local": time.Time.Local, "Round": time.Time.Round, "Sub": time.Time.Sub,
		"Truncate": time.Time.Truncate, "UTC": time.Time.UTC, "Unix": time.Time.Unix, "UnixMilli": time.Time.UnixMilli, "UnixNano": time.Time.UnixNano,
	},
	reflect.TypeFor[time.Duration](): {
		"Abs": time.Duration.Abs, "Hours": time.Duration.Hours, "Microseconds": time.Duration.Microseconds, "Milliseconds": time.Duration.Milliseconds,
		"Minutes": time.Duration.Minutes, "Nanoseconds": time.Duration.Nanoseconds, "Round": time.Duration.Round, "Seconds": time.Duration.Seconds,
		"Truncate": time.Duration.Truncate,
	},
}

// method returns a method that templates can call, as a function whose first argument is the value.
func method(v reflect.Value, name string) reflect.Value {
	v = indirect(v)
	if !v.IsValid() || v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface { // nil
		return reflect.Value{}
	}
	if f, ok := methods[v.Type()][name]; ok {
		return reflect.ValueOf(f)
	}
	if v.CanAddr() {
		v = v.Addr()
	}
	if of, ok := v.Interface().(fmt.Stringer); ok && name == "String" {
		return reflect.ValueOf(func(reflect.Value) string { return of.String() })
	}
	if of, ok := v.Interface().(error); ok && name == "Error" {
		return reflect.ValueOf(func(reflect.Value) string { return of.Error() })
	}
	return reflect.Value{}
}

// indirect follows pointers and interfaces. It returns the first one that is nil, or an invalid value.
func indirect(v reflect.Value) reflect.Value {
	for (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !v.IsNil() {
		v = v.Elem()
	}
	return v
}

// plain returns the value in an interface.
func plain(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

// describe describes a value in errors.
func describe(v reflect.Value) string {
	switch v = plain(v); {
	case !v.IsValid():
		return "nil"
	case basic(v) != reflect.Invalid:
		return fmt.Sprintf("%v (%s)", v, v.Type())
	}
	return "a value of type " + v.Type().String()
}

// basic returns the kind of a number, text or boolean, regardless of its size, and Invalid for
// other values.
func basic(v reflect.Value) reflect.Kind {
	switch {
	case v.CanInt():
		return reflect.Int
	case v.CanUint():
		return reflect.Uint
	case v.CanFloat():
		return reflect.Float64
	case v.CanComplex():
		return reflect.Complex128
	case v.Kind() == reflect.String, v.Kind() == reflect.Bool:
		return v.Kind()
	}
	return reflect.Invalid
}

func isInteger(v reflect.Value) bool { return v.CanInt() || v.CanUint() }

// isNil reports whether a value is nil, or can be nil and is.
func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Map, reflect.Pointer, reflect.Slice, reflect.Func, reflect.Chan:
		return v.IsNil()
	}
	return false
}

// isTrue reports whether a value is not zero and not empty. Structs are true.
func isTrue(v reflect.Value) bool {
	switch v = plain(v); v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return !v.IsZero()
}

// printable returns what fmt prints for a value. Functions and channels have nothing to print.
func printable(v reflect.Value) (any, bool) {
	if v.Kind() == reflect.Pointer {
		v = indirect(v)
	}
	if !v.IsValid() {
		return "<no value>", true
	}
	if _, ok := texts(v.Interface()); !ok && v.CanAddr() {
		if text, ok := texts(v.Addr().Interface()); ok {
			return text, true
		}
	}
	kind := plain(v).Kind()
	return v.Interface(), kind != reflect.Func && kind != reflect.Chan
}

// texts reports whether a value says how it is printed.
func texts(v any) (any, bool) {
	switch v.(type) {
	case error, fmt.Stringer:
		return v, true
	}
	return v, false
}

// joined prints values as fmt.Sprint does.
func joined(all []reflect.Value) string {
	list := make([]any, len(all))
	for i, v := range all {
		list[i], _ = printable(plain(v))
	}
	return fmt.Sprint(list...)
}

// length returns the number of elements of a value.
func length(v reflect.Value) (int, error) {
	switch v = indirect(v); v.Kind() {
	case reflect.String, reflect.Array, reflect.Slice, reflect.Map:
		return v.Len(), nil
	}
	return 0, fmt.Errorf("%s has no length", describe(v))
}

// index returns an element of a list or a map, of that one an element, and so on.
func index(v reflect.Value, at ...reflect.Value) (reflect.Value, error) {
	if v = plain(v); !v.IsValid() {
		return v, errors.New("can't index nil")
	}
	for _, i := range at {
		switch v = indirect(v); v.Kind() {
		case reflect.Array, reflect.Slice, reflect.String:
			n, err := position(i, v.Len()-1)
			if err != nil {
				return v, err
			}
			v = v.Index(n)
		case reflect.Map:
			key, ok := fit(i, v.Type().Key())
			if !ok {
				return v, fmt.Errorf("the key %s is not a %s", describe(i), v.Type().Key())
			}
			element := v.Type().Elem()
			if v = v.MapIndex(key); !v.IsValid() {
				v = reflect.Zero(element)
			}
		default:
			return v, fmt.Errorf("can't index %s", describe(v))
		}
	}
	return v, nil
}

// position returns an index up to a limit.
func position(v reflect.Value, limit int) (int, error) {
	n, ok := fit(v, reflect.TypeFor[int]())
	if !ok {
		return 0, fmt.Errorf("the index %s is no integer", describe(v))
	}
	if i := int(n.Int()); i >= 0 && i <= limit {
		return i, nil
	}
	return 0, fmt.Errorf("index out of range: %d", n.Int())
}

// slice returns a part of a text or list.
func slice(v reflect.Value, at ...reflect.Value) (reflect.Value, error) {
	v = indirect(v)
	var most int
	switch {
	case len(at) > 3 || len(at) == 3 && v.Kind() == reflect.String:
		return v, fmt.Errorf("too many indices: %d", len(at))
	case v.Kind() == reflect.String:
		most = v.Len()
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Array && v.CanAddr():
		most = v.Cap()
	default:
		return v, fmt.Errorf("can't slice %s", describe(v))
	}
	bounds := [3]int{0, v.Len(), most}
	for i := range at {
		n, err := position(at[i], most)
		if err != nil {
			return v, err
		}
		bounds[i] = n
	}
	if bounds[0] > bounds[1] || bounds[1] > bounds[2] {
		return v, fmt.Errorf("invalid indices: %d", bounds[:max(2, len(at))])
	}
	if len(at) == 3 {
		return v.Slice3(bounds[0], bounds[1], bounds[2]), nil
	}
	return v.Slice(bounds[0], bounds[1]), nil
}

func negated(is bool, err error) (bool, error) { return !is, err }

// equal reports whether a value is equal to any of the others.
func equal(v reflect.Value, others ...reflect.Value) (bool, error) {
	if len(others) == 0 {
		return false, errors.New("expected something to compare with")
	}
	v = plain(v)
	for _, other := range others {
		other = plain(other)
		is, err := same(v, other)
		if is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// same reports whether two values are equal. It is an error if they can never be.
func same(a, b reflect.Value) (bool, error) {
	if c, ok := compare(a, b); ok {
		return c == 0, nil
	}
	ka, kb := basic(a), basic(b)
	switch {
	case ka == reflect.Bool && kb == ka, ka == reflect.Complex128 && kb == ka:
		return a.Interface() == b.Convert(a.Type()).Interface(), nil
	case a.IsValid() && b.IsValid() && (ka != reflect.Invalid || a.Kind() != b.Kind()):
		return false, incomparable(a, b)
	case isNil(a) || isNil(b):
		return isNil(a) == isNil(b), nil
	case !b.Comparable():
		return false, incomparable(a, b)
	}
	return a.Interface() == b.Interface(), nil
}

// ordered reports whether the order of two numbers or texts is as expected.
func ordered(a, b reflect.Value, as func(c int) bool) (bool, error) {
	a, b = plain(a), plain(b)
	c, ok := compare(a, b)
	if !ok {
		return false, incomparable(a, b)
	}
	return as(c), nil
}

func incomparable(a, b reflect.Value) error {
	return fmt.Errorf("can't compare %s with %s", describe(a), describe(b))
}

// compare compares two texts or two numbers; integers are no floating-point numbers. ok is false
// for others.
func compare(a, b reflect.Value) (c int, ok bool) {
	ka, kb := basic(a), basic(b)
	switch {
	case ka == reflect.String && kb == ka:
		return strings.Compare(a.String(), b.String()), true
	case ka == reflect.Float64 && kb == ka:
		return cmp.Compare(a.Float(), b.Float()), true
	case ka == reflect.Int && kb == ka:
		return cmp.Compare(a.Int(), b.Int()), true
	case ka == reflect.Uint && kb == ka:
		return cmp.Compare(a.Uint(), b.Uint()), true
	case ka == reflect.Int && kb == reflect.Uint:
		return compareMixed(a.Int(), b.Uint()), true
	case ka == reflect.Uint && kb == reflect.Int:
		return -compareMixed(b.Int(), a.Uint()), true
	}
	return 0, false
}

func compareMixed(i int64, u uint64) int {
	if i < 0 {
		return -1
	}
	return cmp.Compare(uint64(i), u)
}

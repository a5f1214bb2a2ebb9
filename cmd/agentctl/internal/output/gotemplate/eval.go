package gotemplate

import (
	"fmt"
	"reflect"
	"strings"
	"text/template/parse"

	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// pipeline returns the value of a pipeline, and sets its variables.
func (r *run) pipeline(dot reflect.Value, pipe *parse.PipeNode) (v reflect.Value, err error) {
	if pipe == nil {
		return v, nil
	}
	var final []reflect.Value // the value of the previous command
	for _, cmd := range pipe.Cmds {
		if _, isNil := cmd.Args[0].(*parse.NilNode); isNil {
			return v, r.errorf(cmd, "nil is not a command")
		}
		if v, err = r.evaluate(dot, cmd.Args[0], cmd.Args[1:], final); err != nil {
			return v, err
		}
		if v.Kind() == reflect.Interface && v.NumMethod() == 0 {
			v = v.Elem()
		}
		final = []reflect.Value{v}
	}
	for _, decl := range pipe.Decl {
		r.set(decl, pipe.IsAssign, v)
	}
	return v, nil
}

// evaluate returns the value of a node. args and final are the arguments of a function or method.
// The value is invalid if it is nil or missing.
func (r *run) evaluate(dot reflect.Value, n parse.Node, args []parse.Node, final []reflect.Value) (v reflect.Value, err error) {
	switch n := n.(type) {
	case *parse.IdentifierNode:
		return r.function(dot, n, args, final)
	case *parse.FieldNode:
		return r.fields(dot, dot, n, n.Ident, args, final)
	case *parse.ChainNode:
		if v, err = r.evaluate(dot, n.Node, nil, nil); err != nil {
			return v, err
		}
		return r.fields(dot, v, n, n.Field, args, final)
	case *parse.VariableNode:
		for _, known := range r.vars {
			if known.name == n.Ident[0] {
				v = known.value
			}
		}
		if len(n.Ident) > 1 {
			return r.fields(dot, v, n, n.Ident[1:], args, final)
		}
	case *parse.PipeNode:
		if v, err = r.pipeline(dot, n); err != nil {
			return v, err
		}
	default:
		if v, err = r.constant(dot, n); err != nil {
			return v, err
		}
	}
	if len(args)+len(final) > 0 {
		return v, r.errorf(n, "%s has arguments but is no function", n)
	}
	return v, nil
}

// constant returns the value of a constant or of the dot.
func (r *run) constant(dot reflect.Value, n parse.Node) (reflect.Value, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.NilNode:
		return reflect.Value{}, nil
	case *parse.BoolNode:
		return reflect.ValueOf(n.True), nil
	case *parse.StringNode:
		return reflect.ValueOf(n.Text), nil
	case *parse.NumberNode:
		hex := strings.HasPrefix(strings.ToLower(n.Text), "0x") && !strings.ContainsAny(n.Text, "pP")
		switch {
		case n.IsComplex:
			return reflect.ValueOf(n.Complex128), nil
		case n.IsFloat && !hex && n.Text[0] != '\'' && strings.ContainsAny(n.Text, ".eEpP"):
			return reflect.ValueOf(n.Float64), nil
		case n.IsInt:
			return reflect.ValueOf(int(n.Int64)), nil
		}
		return reflect.Value{}, r.errorf(n, "%s is too large for an integer", n.Text)
	}
	return reflect.Value{}, r.errorf(n, "%s is no value", n)
}

// fields follows the names of fields from a value. The last one may be a method with arguments.
func (r *run) fields(dot, v reflect.Value, n parse.Node, names []string, args []parse.Node, final []reflect.Value) (reflect.Value, error) {
	for i, name := range names {
		if m := method(v, name); m.IsValid() {
			var with []parse.Node
			var last []reflect.Value
			if i == len(names)-1 {
				with, last = args, final
			}
			values, err := r.values(dot, with, last)
			if err == nil {
				v, err = r.invoke(n, name, m, append([]reflect.Value{indirect(v)}, values...))
			}
			if err != nil || i == len(names)-1 {
				return v, err
			}
			continue
		}
		if v.IsValid() && i == len(names)-1 && len(args)+len(final) > 0 {
			return v, r.errorf(n, "%s has arguments but is a field", name)
		}
		var err *Error
		if v, err = r.field(v, n, name); err != nil {
			return v, err
		}
	}
	return v, nil
}

// field returns a field of a struct, or the value of a key of a map.
func (r *run) field(v reflect.Value, n parse.Node, name string) (reflect.Value, *Error) {
	if !v.IsValid() && !r.Strict {
		return v, nil
	}
	of := indirect(v)
	switch of.Kind() {
	case reflect.Struct:
		if f, ok := of.Type().FieldByName(name); ok && f.IsExported() {
			at, err := of.FieldByIndexErr(f.Index)
			if err != nil { // an embedded nil pointer
				return at, r.fail(n, err)
			}
			return at, nil
		}
	case reflect.Map:
		if key := of.Type().Key(); key.Kind() == reflect.String || key.Kind() == reflect.Interface && key.NumMethod() == 0 {
			at := of.MapIndex(reflect.ValueOf(name).Convert(key))
			if !at.IsValid() && r.Strict {
				err := r.errorf(n, "map has no entry for key %q", name)
				err.Field = name
				return at, err
			}
			return at, nil
		}
	case reflect.Pointer, reflect.Interface, reflect.Invalid:
		return of, r.errorf(n, "can't evaluate field %s of nil", name)
	}
	err := r.errorf(n, "can't evaluate field %s in type %s%s; methods are not called", name, of.Type(), nearest(of.Type(), name))
	err.Field = name
	return of, err
}

// nearest suggests a field of a struct.
func nearest(t reflect.Type, name string) string {
	if t.Kind() != reflect.Struct {
		return ""
	}
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() {
			names = append(names, f.Name)
		}
	}
	if near := suggest.Nearest(name, names); near != "" {
		return fmt.Sprintf(", did you mean %s?", near)
	}
	return ""
}

// values returns the values of arguments.
func (r *run) values(dot reflect.Value, args []parse.Node, final []reflect.Value) ([]reflect.Value, error) {
	values := make([]reflect.Value, 0, len(args)+len(final))
	for _, arg := range args {
		v, err := r.evaluate(dot, arg, nil, nil)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return append(values, final...), nil
}

// function calls a function. The functions and and or evaluate no more arguments than necessary.
func (r *run) function(dot reflect.Value, n *parse.IdentifierNode, args []parse.Node, final []reflect.Value) (reflect.Value, error) {
	if n.Ident == "and" || n.Ident == "or" {
		var v reflect.Value
		for i, arg := range args {
			var err error
			if v, err = r.evaluate(dot, arg, nil, nil); err != nil {
				return v, err
			}
			if isTrue(v) == (n.Ident == "or") || i == len(args)-1 && len(final) == 0 {
				return v, nil
			}
		}
		if len(final) > 0 {
			return final[0], nil
		}
	}
	values, err := r.values(dot, args, final)
	if err != nil {
		return reflect.Value{}, err
	}
	return r.invoke(n, n.Ident, r.funcs[n.Ident], values)
}

// invoke calls a function that returns a value, or a value and an error.
func (r *run) invoke(n parse.Node, name string, f reflect.Value, args []reflect.Value) (reflect.Value, error) {
	t := f.Type()
	if t.IsVariadic() && len(args) < t.NumIn()-1 || !t.IsVariadic() && len(args) != t.NumIn() {
		return reflect.Value{}, r.errorf(n, "wrong number of arguments for %s: %d, expected %s", name, len(args), parameters(t))
	}
	for i, arg := range args {
		var in reflect.Type
		if t.IsVariadic() && i >= t.NumIn()-1 {
			in = t.In(t.NumIn() - 1).Elem()
		} else {
			in = t.In(i)
		}
		var ok bool
		if args[i], ok = fit(arg, in); !ok {
			return reflect.Value{}, r.errorf(n, "argument %d of %s is %s, expected %s", i+1, name, describe(arg), in)
		}
	}
	out := f.Call(args)
	if len(out) == 2 && !out[1].IsNil() {
		err, _ := reflect.TypeAssert[error](out[1])
		return reflect.Value{}, r.fail(n, fmt.Errorf("error calling %s: %w", name, err))
	}
	if v, ok := reflect.TypeAssert[reflect.Value](out[0]); ok {
		return v, nil
	}
	return out[0], nil
}

// parameters describes how many arguments a function has.
func parameters(t reflect.Type) string {
	if t.IsVariadic() {
		return fmt.Sprintf("at least %d", t.NumIn()-1)
	}
	return fmt.Sprint(t.NumIn())
}

var valueType = reflect.TypeFor[reflect.Value]()

// fit converts an argument to the type of a parameter: pointers to what they point to, integers to
// other integers and floating-point numbers.
func fit(v reflect.Value, in reflect.Type) (reflect.Value, bool) {
	if in == valueType {
		return reflect.ValueOf(v), true
	}
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return reflect.Zero(in), canBeNil(in)
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Elem().AssignableTo(in) && !v.Type().AssignableTo(in) {
		v = v.Elem()
	}
	switch to := basic(reflect.Zero(in)); {
	case v.Type().AssignableTo(in):
		return v, true
	case isInteger(v) && (to == reflect.Int || to == reflect.Uint):
		converted := v.Convert(in)
		difference, _ := compare(converted, v)
		return converted, difference == 0
	case (v.CanInt() || v.CanFloat()) && to == reflect.Float64:
		return v.Convert(in), true
	}
	return v, false
}

func canBeNil(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Map, reflect.Slice:
		return true
	}
	return false
}

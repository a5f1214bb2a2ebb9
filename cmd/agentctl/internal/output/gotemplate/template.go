// Package gotemplate executes templates in the language of text/template. It does not call methods by
// name: because of such calls, the linker keeps all exported methods of all types, which were a fifth
// of agentctl. Templates can call the methods String and Error, and methods of times and durations.
package gotemplate

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// Template is a parsed template. It may be executed concurrently.
type Template struct {
	name  string
	trees map[string]*parse.Tree // by name, as define and block give them
	funcs map[string]reflect.Value
	// Strict makes a missing key of a map an error. Otherwise its value is "<no value>".
	Strict bool
}

// maxDepth limits templates that execute each other.
const maxDepth = 1000

// Parse parses a template. funcs are its functions besides the predefined ones of text/template;
// they return a value, or a value and an error. Of the predefined functions, "call" and "js" are missing.
func Parse(name, text string, funcs map[string]any) (*Template, error) {
	trees, err := parse.Parse(name, text, "{{", "}}", builtins, funcs)
	if err != nil {
		return nil, err
	}
	t := &Template{name: name, trees: trees, funcs: map[string]reflect.Value{}}
	for name, f := range builtins {
		t.funcs[name] = reflect.ValueOf(f)
	}
	for name, f := range funcs {
		t.funcs[name] = reflect.ValueOf(f)
	}
	return t, nil
}

// Execute writes the template for data. Fields of structs have their Go names, and keys of maps
// are used as fields.
func (t *Template) Execute(w io.Writer, data any) error {
	tree := t.trees[t.name]
	if tree == nil { // the text is empty, or has only definitions
		return nil
	}
	return t.run(w, tree, reflect.ValueOf(data), 1)
}

func (t *Template) run(w io.Writer, tree *parse.Tree, data reflect.Value, depth int) error {
	r := &run{Template: t, out: w, tree: tree, depth: depth, vars: []variable{{"$", data}}}
	return r.walk(data, tree.Root)
}

// Error is an error of the execution.
type Error struct {
	Field string // that the data does not have; empty for other errors
	where string
	err   error
}

// Error returns the error with its line and column, and the action that failed.
func (e *Error) Error() string { return "template: " + e.where + ": " + e.err.Error() }

// Unwrap returns the error of a function.
func (e *Error) Unwrap() error { return e.err }

// run is the execution of one template.
type run struct {
	*Template
	out   io.Writer
	tree  *parse.Tree
	depth int
	vars  []variable // the last one of a name is visible
}

type variable struct {
	name  string
	value reflect.Value
}

// The results of {{break}} and {{continue}}.
var errBreak, errContinue = errors.New("break"), errors.New("continue")

func (r *run) fail(n parse.Node, err error) *Error {
	at, context := r.tree.ErrorContext(n)
	return &Error{where: fmt.Sprintf("%s: executing %q at <%s>", at, r.tree.Name, context), err: err}
}

func (r *run) errorf(n parse.Node, format string, args ...any) *Error {
	return r.fail(n, fmt.Errorf(format, args...))
}

// walk executes a node.
func (r *run) walk(dot reflect.Value, n parse.Node) error {
	switch n := n.(type) {
	case *parse.ListNode:
		for _, n := range n.Nodes {
			if err := r.walk(dot, n); err != nil {
				return err
			}
		}
	case *parse.TextNode:
		_, err := r.out.Write(n.Text)
		return err
	case *parse.ActionNode:
		v, err := r.pipeline(dot, n.Pipe)
		if err != nil || len(n.Pipe.Decl) > 0 {
			return err
		}
		return r.print(n, v)
	case *parse.IfNode:
		return r.branch(dot, &n.BranchNode)
	case *parse.WithNode:
		return r.branch(dot, &n.BranchNode)
	case *parse.RangeNode:
		return r.loop(dot, n)
	case *parse.TemplateNode:
		return r.call(dot, n)
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	}
	return nil // a comment
}

// branch executes an if or a with.
func (r *run) branch(dot reflect.Value, b *parse.BranchNode) error {
	defer func(n int) { r.vars = r.vars[:n] }(len(r.vars))
	v, err := r.pipeline(dot, b.Pipe)
	switch {
	case err != nil:
		return err
	case isTrue(v) && b.NodeType == parse.NodeWith:
		return r.walk(v, b.List)
	case isTrue(v):
		return r.walk(dot, b.List)
	case b.ElseList != nil:
		return r.walk(dot, b.ElseList)
	}
	return nil
}

// call executes another template.
func (r *run) call(dot reflect.Value, n *parse.TemplateNode) error {
	tree := r.trees[n.Name]
	if tree == nil {
		return r.errorf(n, "no template %q", n.Name)
	}
	if r.depth == maxDepth {
		return r.errorf(n, "more than %d templates execute each other", maxDepth)
	}
	data, err := r.pipeline(dot, n.Pipe)
	if err != nil {
		return err
	}
	return r.run(r.out, tree, data, r.depth+1)
}

// loop executes a range.
func (r *run) loop(dot reflect.Value, n *parse.RangeNode) error {
	defer func(n int) { r.vars = r.vars[:n] }(len(r.vars))
	v, err := r.pipeline(dot, n.Pipe)
	if err != nil {
		return err
	}
	v = indirect(v)
	switch {
	case !canRange(v):
		return r.errorf(n.Pipe, "range can't iterate over %s", describe(v))
	case len(n.Pipe.Decl) > 1 && basic(v) != reflect.Invalid:
		return r.errorf(n.Pipe, "range over an integer has one variable")
	}
	empty, visible := true, len(r.vars)
	for index, element := range elements(v) {
		empty = false
		r.iteration(n.Pipe, index, element)
		err = r.walk(element, n.List)
		r.vars = r.vars[:visible]
		if err != nil && !errors.Is(err, errContinue) {
			break
		}
		err = nil
	}
	if empty && n.ElseList != nil {
		err = r.walk(dot, n.ElseList)
	}
	if errors.Is(err, errBreak) {
		return nil
	}
	return err
}

// iteration sets the variables of a range.
func (r *run) iteration(pipe *parse.PipeNode, index, element reflect.Value) {
	values := []reflect.Value{index, element}
	for i, v := range pipe.Decl {
		r.set(v, pipe.IsAssign, values[i+2-len(pipe.Decl)]) // a single variable is the element
	}
}

// set declares a variable, or assigns to it.
func (r *run) set(v *parse.VariableNode, assign bool, value reflect.Value) {
	name := v.Ident[0]
	for i := len(r.vars) - 1; assign && i >= 0; i-- {
		if r.vars[i].name == name {
			r.vars[i].value = value
			return
		}
	}
	r.vars = append(r.vars, variable{name, value})
}

// print writes a value.
func (r *run) print(n parse.Node, v reflect.Value) error {
	text, ok := printable(v)
	if !ok {
		return r.errorf(n, "can't print %s", describe(v))
	}
	_, err := fmt.Fprint(r.out, text)
	return err
}

// canRange reports whether a range can iterate over a value. It cannot over channels and functions.
func canRange(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid, reflect.Slice, reflect.Array, reflect.Map:
		return true
	}
	return isInteger(v)
}

// sortedKeys returns the keys of a map in their order.
func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		if c, ok := compare(plain(a), plain(b)); ok {
			return c
		}
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	return keys
}

// elements returns the elements of a value for a range, with their indices or keys. Maps are in
// the order of their keys.
func elements(v reflect.Value) func(yield func(index, element reflect.Value) bool) {
	switch {
	case v.Kind() == reflect.Map:
		return func(yield func(index, element reflect.Value) bool) {
			for _, key := range sortedKeys(v) {
				if !yield(key, v.MapIndex(key)) {
					return
				}
			}
		}
	case isInteger(v):
		return func(yield func(index, element reflect.Value) bool) {
			for i := range v.Seq() {
				if !yield(reflect.Value{}, i) {
					return
				}
			}
		}
	case v.IsValid():
		return v.Seq2()
	}
	return func(func(index, element reflect.Value) bool) {}
}

package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
)

var kebabCase = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Lint checks the type and the defaults of a configuration, for the tests of
// plugins: every exported field has a tag `yaml` or `json` with a kebab-case
// key and a tag `desc`, no key is used twice, types can be read and written,
// the defaults pass Validate, and reading the output of Print yields them
// again.
func Lint(def any) error {
	v := reflect.ValueOf(def)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return fmt.Errorf("expected a struct, got %T", def)
	}
	errs := lintType(v.Type(), "", map[reflect.Type]bool{})
	if len(errs) == 0 {
		errs = append(errs, lintRoundTrip(v))
	}
	target := reflect.New(v.Type())
	target.Elem().Set(v)
	if err := validate(target.Elem()); err != nil {
		errs = append(errs, fmt.Errorf("the defaults are not valid: %w", err))
	}
	return errors.Join(errs...)
}

func lintType(t reflect.Type, path string, seen map[reflect.Type]bool) []error {
	if t == durationType || t == fileModeType || isText(t) || seen[t] {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Array, reflect.Slice:
		return lintType(t.Elem(), path, seen)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return []error{fmt.Errorf("%s: keys of type %s cannot be read", path, t.Key())}
		}
		return lintType(t.Elem(), path, seen)
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return []error{fmt.Errorf("%s: a %s cannot be read", path, t)}
	case reflect.Struct:
		seen[t] = true
		return lintStruct(t, path, seen)
	}
	return nil
}

func lintStruct(t reflect.Type, path string, seen map[reflect.Type]bool) []error {
	var errs []error
	keys := map[string]bool{}
	for _, f := range fieldsOf(t) {
		name := f.key
		if path != "" {
			name = path + "." + name
		}
		if !f.tagged {
			errs = append(errs, fmt.Errorf("%s: field without a tag `json` or `yaml`", name))
		}
		if !kebabCase.MatchString(f.key) {
			errs = append(errs, fmt.Errorf("%s: the key is not in kebab-case", name))
		}
		if f.desc == "" {
			errs = append(errs, fmt.Errorf("%s: field without a tag `desc`", name))
		}
		if keys[f.key] {
			errs = append(errs, fmt.Errorf("%s: key used twice", name))
		}
		keys[f.key] = true
		errs = append(errs, lintType(f.typ, name, seen)...)
	}
	return errs
}

func lintRoundTrip(v reflect.Value) error {
	first, err := render(v, false)
	if err != nil {
		return err
	}
	again := reflect.New(v.Type()).Elem()
	if err := decode(first, "the printed defaults", again, &references{environ: NoEnviron}); err != nil {
		return err
	}
	second, err := render(again, false)
	if err != nil {
		return err
	}
	if !bytes.Equal(first, second) {
		return fmt.Errorf("the defaults change when they are printed and read:\n%s\nbecame\n%s", first, second)
	}
	return nil
}

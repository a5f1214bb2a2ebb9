package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
)

// Load reads the configuration of a plugin: the values of def, overridden by the
// values of the source. found reports whether the source exists. Load is strict:
// unknown keys and wrong types are errors that name file, line and field.
//
// The key of a field is its tag `yaml`, else its tag `json`, else its name in
// kebab-case. A field of type time.Duration is written as text ("1s") or as a
// number of nanoseconds, one of type os.FileMode as octal digits, and types
// with UnmarshalText as their text. If C or *C has Validate, Load calls it at
// the end.
//
// A value may refer to the environment or to a file, for example for passwords:
// ${env:NAME} is the value of an environment variable, ${file:PATH} the content of a
// file without trailing line breaks. PATH is relative to the directory of the
// configuration file. An unset variable or a missing file is an error. $${ is a
// literal ${. In a list or mapping on one line YAML requires quotes around it.
func Load[C any](s Source, def C) (cfg C, found bool, err error) {
	cfg = clone(def)
	found, err = loadInto(s, reflect.ValueOf(&cfg).Elem())
	if err != nil {
		return def, found, err
	}
	return cfg, found, nil
}

// Or returns the configuration that a program has given a plugin, or else its defaults.
func Or[C any](given *C, defaults C) C {
	if given != nil {
		return *given
	}
	return defaults
}

// LoadAny is Load for a configuration whose type the caller does not know. def
// must be a struct or a pointer to one, and the result has its type.
func LoadAny(s Source, def any) (cfg any, found bool, err error) {
	v := reflect.ValueOf(def)
	ptr := v.Kind() == reflect.Pointer
	if ptr {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil, false, fmt.Errorf("configuration of plugin %s: expected a struct, got %T", s.Name(), def)
	}
	target := reflect.New(v.Type())
	target.Elem().Set(deepCopy(v))
	found, err = loadInto(s, target.Elem())
	if err != nil {
		return nil, found, err
	}
	if ptr {
		return target.Interface(), found, nil
	}
	return target.Elem().Interface(), found, nil
}

func loadInto(s Source, target reflect.Value) (found bool, err error) {
	data, path, found, err := s.Read()
	if err != nil {
		return found, err
	}
	if found {
		refs := &references{environ: os.LookupEnv, dir: filepath.Dir(path)}
		flags := flagsOf(s)
		if flags != nil {
			refs.environ = flags.environ
		}
		if err := decode(data, path, target, refs); err != nil {
			return true, err
		}
		if flags != nil && flags.onOpenFile != nil {
			for _, open := range refs.openFiles(path) {
				flags.onOpenFile(s.Name(), open)
			}
		}
	} else {
		path = "the defaults of plugin " + s.Name()
	}
	if err := validate(target); err != nil {
		return found, fmt.Errorf("%s: %w", path, err)
	}
	return found, nil
}

// flagsOf returns the flags that name the file of a source; nil if none do.
func flagsOf(s Source) *Flags {
	switch s := s.(type) {
	case fileSource:
		return s.flags
	case *standalone:
		return s.flags
	}
	return nil
}

func validate(v reflect.Value) error {
	if c, ok := v.Addr().Interface().(Validator); ok {
		return c.Validate()
	}
	return nil
}

// Decode reads YAML into the struct that target points to, as strictly as
// Load. Errors show name as the file.
func Decode(data []byte, name string, target any) error {
	v := reflect.ValueOf(target)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return errors.New("decode: the target must be a pointer")
	}
	return decode(data, name, v.Elem(), &references{environ: os.LookupEnv, dir: filepath.Dir(name)})
}

func clone[C any](c C) C {
	return deepCopy(reflect.ValueOf(&c).Elem()).Interface().(C)
}

// deepCopy copies everything a decoder may write to, so that defaults which
// share slices or maps never change.
func deepCopy(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(deepCopy(v.Elem()))
		return p
	case reflect.Struct:
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		for i := range v.NumField() {
			if c.Field(i).CanSet() {
				c.Field(i).Set(deepCopy(v.Field(i)))
			}
		}
		return c
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(deepCopy(v.Index(i)))
		}
		return c
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			c.SetMapIndex(it.Key(), deepCopy(it.Value()))
		}
		return c
	}
	return v
}

package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/pflag"
)

// PluginConfig is a Source with the methods that code written for cn-infra calls. New
// code uses Load, which knows defaults.
type PluginConfig interface {
	Source
	// LoadValue is Load into the struct that cfg points to. What the struct contains
	// are the defaults. found reports whether the source exists.
	LoadValue(cfg any) (found bool, err error)
	// GetConfigName returns the path of the file; empty if there is none.
	GetConfigName() string
}

// FlagSet is the type of the flags that WithExtraFlags defines.
type FlagSet = pflag.FlagSet

// Option is an option of ForPlugin.
type Option func(*standalone)

// WithCustomizedFlag replaces the flag --<plugin>-config of ForPlugin, and its default.
func WithCustomizedFlag(name, defaultValue, usage string) Option {
	return func(s *standalone) { s.flag, s.file, s.usage = name, defaultValue, usage }
}

// WithExtraFlags defines more flags. An environment variable can set each of them, too
// (EnvName). The values are set when Init of the plugin is called. New code uses
// infra.FlagDefiner.
func WithExtraFlags(define func(flags *FlagSet)) Option {
	return func(s *standalone) { s.extra = append(s.extra, define) }
}

// standalone is the source of a plugin, which belongs to no agent until Bind.
type standalone struct {
	name              string
	flag, file, usage string // of WithCustomizedFlag
	extra             []func(*FlagSet)
	flags             *Flags // of the agent; nil before Bind
}

// Bind defines the flags of a source that ForPlugin made, and makes it read the file
// that they name. It returns an error for a flag that exists.
func Bind(s Source, f *Flags) (err error) {
	p, ok := s.(*standalone)
	if !ok || p.flags == f {
		return nil
	}
	defer func() {
		if r := recover(); r != nil { // pflag panics
			err = fmt.Errorf("flags of plugin %s: %v", p.name, r)
		}
	}()
	p.flags = f
	p.define(f)
	for _, define := range p.extra {
		define(f.FlagSet)
	}
	return nil
}

func (s *standalone) define(f *Flags) {
	if s.flag == "" {
		s.flag = strings.ToLower(s.name) + "-config"
		f.Define(s.name, true)
		return
	}
	if f.Lookup(s.flag) == nil {
		f.String(s.flag, s.file, s.usage)
	}
}

// source returns the source that the flags name.
func (s *standalone) source() (fileSource, error) {
	if s.flags != nil {
		return fileSource{name: s.name, flag: s.flag, flags: s.flags}, nil
	}
	f := NewFlags(s.name, nil)
	s.define(f)
	_, err := f.Parse(nil)
	return fileSource{name: s.name, flag: s.flag, flags: f}, err
}

func (s *standalone) Name() string { return s.name }

func (s *standalone) Read() ([]byte, string, bool, error) {
	src, err := s.source()
	if err != nil {
		return nil, "", false, err
	}
	return src.Read()
}

func (s *standalone) LoadValue(cfg any) (bool, error) { return loadValue(s, cfg) }
func (s fileSource) LoadValue(cfg any) (bool, error)  { return loadValue(s, cfg) }
func (t text) LoadValue(cfg any) (bool, error)        { return loadValue(t, cfg) }

func (s *standalone) GetConfigName() string { return pathOf(s) }
func (s fileSource) GetConfigName() string  { return pathOf(s) }
func (t text) GetConfigName() string        { return "" }

func loadValue(s Source, cfg any) (found bool, err error) {
	v := reflect.ValueOf(cfg)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return false, fmt.Errorf("configuration of plugin %s: expected a pointer to a struct, got %T", s.Name(), cfg)
	}
	return loadInto(s, v.Elem())
}

func pathOf(s Source) string {
	_, path, _, _ := s.Read()
	return path
}

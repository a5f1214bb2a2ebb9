package kvstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"gopkg.in/yaml.v3"
)

// change is one argument that names a value: KEY (the value is in the file of
// that name, or empty), KEY=FILE, KEY={...} in YAML, or -KEY for none.
type change struct {
	key   string
	value proto.Message // nil: delete
}

// values parses arguments that name values and returns keys and values, nil
// for a deletion.
func (r *Run) values(args []string) ([]change, error) {
	changes := make([]change, len(args))
	for i, arg := range args {
		c, err := r.value(arg)
		if err != nil {
			return nil, err
		}
		changes[i] = c
	}
	return changes, nil
}

func (r *Run) value(arg string) (change, error) {
	if key, ok := strings.CutPrefix(arg, "-"); ok {
		return change{key: key}, nil
	}
	key, source, given := strings.Cut(arg, "=")
	if key == "" {
		return change{}, fmt.Errorf("value %q: expected KEY, KEY=FILE, KEY={...} or -KEY", arg)
	}
	text := r.script.files[key]
	if given {
		var found bool
		if text, found = r.script.files[source]; !found {
			if !strings.HasPrefix(source, "{") {
				return change{}, fmt.Errorf("value %q: there is no file %q", arg, source)
			}
			text = source
		}
	}
	newValue := r.NewValue
	if newValue == nil {
		newValue = NewItem
	}
	value := newValue(key)
	if value == nil {
		return change{}, fmt.Errorf("value %q: unknown kind of key", arg)
	}
	if err := unmarshal(text, value); err != nil {
		return change{}, fmt.Errorf("value of %s: %w", key, err)
	}
	return change{key, value}, nil
}

// unmarshal reads YAML into a message.
func unmarshal(text string, into proto.Message) error {
	var tree any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		return err
	}
	if tree == nil {
		return nil
	}
	if _, ok := tree.(map[string]any); !ok {
		return errors.New("expected fields of the message")
	}
	data, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return protojson.Unmarshal(data, into)
}

// options separates leading arguments that begin with "--".
func options(args []string) (opts map[string]string, rest []string) {
	opts = map[string]string{}
	for len(args) > 0 && strings.HasPrefix(args[0], "--") {
		name, value, _ := strings.Cut(args[0][2:], "=")
		opts[name] = value
		args = args[1:]
	}
	return opts, args
}

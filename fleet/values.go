package fleet

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// Normalize checks a value against the type, and returns it in its usual form: addresses, prefixes
// and MAC addresses as their packages write them, integers as int64 or uint64.
func (t VariableType) Normalize(value any) (any, error) {
	switch t {
	case "":
		return value, nil
	case TypeInteger:
		return t.integer(value)
	case TypeBoolean:
		if b, ok := value.(bool); ok {
			return b, nil
		}
	case TypeList:
		if list, ok := value.([]any); ok {
			return list, nil
		}
	case TypeObject:
		if object, ok := value.(map[string]any); ok {
			return object, nil
		}
	default:
		if text, ok := value.(string); ok {
			return t.text(text)
		}
	}
	return nil, t.mismatch(value)
}

// text reads a value that is a string.
func (t VariableType) text(text string) (any, error) {
	switch t {
	case TypeAddress:
		if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
			return a.String(), nil
		}
	case TypePrefix:
		if p, err := netip.ParsePrefix(text); err == nil {
			return p.String(), nil
		}
	case TypeMAC:
		const size = 6
		if mac, err := net.ParseMAC(text); err == nil && len(mac) == size {
			return mac.String(), nil
		}
	case TypeString:
		return text, nil
	}
	return nil, t.mismatch(text)
}

func (t VariableType) integer(value any) (any, error) {
	switch v := value.(type) {
	case int:
		return int64(v), nil
	case int64, uint64:
		return v, nil
	case float64: // of 1e3, and of JSON
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), nil
		}
	}
	return nil, t.mismatch(value)
}

func (t VariableType) mismatch(value any) error {
	hint := ""
	if text, isText := value.(string); !isText && t == TypeString {
		hint = "; put it in quotes"
	} else if _, err := strconv.ParseInt(text, 10, 64); isText && err == nil && t == TypeInteger {
		hint = "; remove the quotes"
	}
	return fmt.Errorf("expected %s, got %s%s", t.expected(), Describe(value), hint)
}

// expected says what values of the type are.
func (t VariableType) expected() string {
	switch t {
	case TypeInteger:
		return "an integer"
	case TypeBoolean:
		return "true or false"
	case TypeAddress:
		return "an address such as 10.0.0.1 or fd00::1"
	case TypePrefix:
		return "an address with a prefix length such as 10.0.0.1/24"
	case TypeMAC:
		return "a MAC address such as 02:00:00:00:00:01"
	case TypeObject:
		return "an object"
	}
	return "a " + string(t)
}

// Describe says what a value is, for errors.
func Describe(value any) string {
	const limit = 60
	switch v := value.(type) {
	case nil:
		return "nothing"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case string:
		if len(v) > limit {
			v = v[:limit] + "..."
		}
		return "the string " + strconv.Quote(v)
	}
	return fmt.Sprint(value)
}

// Gives reports whether the values of a pool have a type that a variable accepts.
func (t PoolType) Gives(v VariableType) bool {
	types := []VariableType{"", TypeString}
	switch t {
	case PoolIPv4, PoolIPv6:
		types = append(types, TypeAddress)
	case PoolPrefix:
		types = append(types, TypePrefix)
	case PoolInteger:
		types = []VariableType{"", TypeInteger}
	}
	return slices.Contains(types, v)
}

// valueOf returns the value of a tree, without fields that are null.
func valueOf(t *document.Tree) any {
	switch t.Kind {
	case document.List:
		list := make([]any, 0, len(t.Elements))
		for _, e := range t.Elements {
			list = append(list, valueOf(e))
		}
		return list
	case document.Mapping:
		object := make(map[string]any, len(t.Fields))
		for _, f := range t.Fields {
			if f.Value.Kind != document.Null {
				object[f.Name] = valueOf(f.Value)
			}
		}
		return object
	}
	return t.Value()
}

package output

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ohler55/ojg/jp"
)

// plainJSON returns data as maps, lists, texts and numbers, with the names of its JSON.
func plainJSON(data any) (plain any, err error) {
	text, err := json.Marshal(data)
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	return plain, err
}

// jsonPath evaluates a path ("$.x[0].y") or a template of kubectl with paths in braces:
// "{.x[*].y}", "{range .x[*]}{.y}{\"\\n\"}{end}".
func jsonPath(template string, data any) (string, error) {
	plain, err := plainJSON(data)
	if err != nil {
		return "", err
	}
	if !strings.Contains(template, "{") {
		return evaluate(template, plain)
	}
	var out strings.Builder
	rest, err := expand(&out, template, plain)
	if err == nil && rest != "" {
		err = fmt.Errorf("%q: {end} without {range}", template)
	}
	return out.String(), err
}

// expand writes a template up to its end or an {end}, and returns what follows that.
func expand(out *strings.Builder, template string, data any) (rest string, err error) {
	for template != "" {
		text, after, found := strings.Cut(template, "{")
		out.WriteString(text)
		if !found {
			return "", nil
		}
		expression, after, closed := strings.Cut(after, "}")
		if !closed {
			return "", fmt.Errorf("{%s: expected a closing brace", expression)
		}
		expression, template = strings.TrimSpace(expression), after
		path, ranges := strings.CutPrefix(expression, "range ")
		switch {
		case expression == "end":
			return "{end}" + template, nil
		case ranges:
			template, err = expandRange(out, path, template, data)
		case strings.HasPrefix(expression, `"`), strings.HasPrefix(expression, "'"):
			text, err = strconv.Unquote(`"` + strings.Trim(expression, `"'`) + `"`)
			out.WriteString(text)
		default:
			text, err = evaluate(expression, data)
			out.WriteString(text)
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// expandRange writes the body of a range for each element of a path, and returns what
// follows its {end}.
func expandRange(out *strings.Builder, path, body string, data any) (rest string, err error) {
	elements, err := pathOf(path, data)
	if err != nil {
		return "", err
	}
	for _, e := range elements {
		if _, err = expand(out, body, e); err != nil {
			return "", err
		}
	}
	if rest, err = expand(&strings.Builder{}, body, nil); err != nil { // for the end
		return "", err
	}
	rest, closed := strings.CutPrefix(rest, "{end}")
	if !closed {
		return "", fmt.Errorf("{range %s}: expected an {end}", path)
	}
	return rest, nil
}

func pathOf(path string, data any) ([]any, error) {
	path = strings.Replace(strings.TrimSpace(path), ".[", "[", 1) // of kubectl
	switch {
	case strings.HasPrefix(path, "."), strings.HasPrefix(path, "["):
		path = "$" + path
	case !strings.HasPrefix(path, "$") && !strings.HasPrefix(path, "@"):
		path = "$." + path
	}
	parsed, err := jp.ParseString(path)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", path, err)
	}
	return parsed.Get(data), nil
}

// evaluate returns the values of a path, with blanks between.
func evaluate(path string, data any) (string, error) {
	found, err := pathOf(path, data)
	texts := make([]string, len(found))
	for i, v := range found {
		text, ok := v.(string)
		if !ok {
			body, _ := json.Marshal(v) // cannot fail: it was decoded from JSON
			text = string(body)
		}
		texts[i] = text
	}
	return strings.Join(texts, " "), err
}

// nameFields are the fields that name an item in the output of a command.
var nameFields = []string{"key", "Key", "name", "Name", "label", "logger", "SeqNum"}

// names returns the names of the items in data, which is a list, an item, or an object
// with lists.
func (p *Printer) names(data any) (list []string) {
	switch d := data.(type) {
	case []any:
		for _, e := range d {
			list = append(list, p.names(e)...)
		}
	case map[string]any:
		for _, field := range nameFields {
			switch name := d[field].(type) {
			case string:
				return []string{p.ShortKey(name)}
			case float64:
				return []string{strconv.FormatFloat(name, 'f', -1, 64)}
			}
		}
		for _, field := range []string{"value", "Value", "why"} {
			if value, ok := d[field].(map[string]any); ok {
				return p.names(value)
			}
		}
		for _, field := range slices.Sorted(maps.Keys(d)) {
			if _, ok := d[field].(map[string]any); !ok {
				list = append(list, p.names(d[field])...)
			} else if list == nil {
				list = p.names(d[field])
			}
		}
	}
	return list
}

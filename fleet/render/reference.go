package render

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// begin is what references begin with; with another dollar before it, it stands for itself.
const begin = "${"

// part is a part of a string: text, or a reference.
type part struct {
	text string
	ref  *reference // nil: text
}

// root is what the path of a reference begins with.
type root string

const (
	rootAgent root = "agent"
	rootPeer  root = "peer"
	rootPool  root = "pool"
)

// The parts of an agent that references name.
const (
	partLabel  = "label"
	partLabels = "labels"
	partValues = "values"
)

// reference is a path to a value, such as agent.values.uplinks[0].address.
type reference struct {
	text string // "${agent.values.uplinks[0].address}"
	root root
	part string // label, labels or values; empty for a pool
	name string // of the label, the value or the pool
	rest []step // into a value
}

// step is a step into a value: a field of an object, or an element of a list.
type step struct {
	name  string
	index int // of an element, if name is empty
}

func (s step) String() string {
	if s.name == "" {
		return fmt.Sprintf("[%d]", s.index)
	}
	return "." + s.name
}

// parse splits a string into text and references. The result is nil if there is nothing to replace.
func parse(text string) ([]part, error) {
	if !strings.Contains(text, begin) {
		return nil, nil
	}
	var parts []part
	literal := ""
	for text != "" {
		at := strings.Index(text, begin)
		if at < 0 {
			literal += text
			break
		}
		if at > 0 && text[at-1] == '$' {
			literal += text[:at-1] + begin
			text = text[at+len(begin):]
			continue
		}
		literal += text[:at]
		end := endOf(text[at:])
		if end < 0 {
			return nil, fmt.Errorf("%q is not closed, expected }; $${ stands for ${", short(text[at:]))
		}
		ref, err := parseReference(text[at : at+end])
		if err != nil {
			return nil, err
		}
		if literal != "" {
			parts = append(parts, part{text: literal})
			literal = ""
		}
		parts = append(parts, part{ref: ref})
		text = text[at+end:]
	}
	if literal != "" {
		parts = append(parts, part{text: literal})
	}
	return parts, nil
}

// endOf returns the length of the reference that a text begins with; -1 if it is not closed.
func endOf(text string) int {
	quoted := false
	for i := range len(text) {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == '}' && !quoted:
			return i + 1
		}
	}
	return -1
}

// short limits a text in an error.
func short(text string) string {
	const limit = 60
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "") + "..."
	}
	return text
}

// parseReference reads "${agent.values.x}".
func parseReference(text string) (*reference, error) {
	steps, err := parsePath(text[len(begin) : len(text)-1])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", short(text), err)
	}
	r := &reference{text: text, root: root(steps[0].name)}
	switch r.root {
	case rootPool:
		err = r.pool(steps[1:])
	case rootAgent, rootPeer:
		err = r.agent(steps[1:])
	default:
		near := suggest.Nearest(steps[0].name, []string{string(rootAgent), string(rootPeer), string(rootPool)})
		err = fmt.Errorf("unknown reference, expected agent, peer or pool at the beginning%s", question(near))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", short(text), err)
	}
	return r, nil
}

// question asks whether another word was meant; empty without one.
func question(near string) string {
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}

func (r *reference) pool(steps []step) error {
	if len(steps) != 1 || steps[0].name == "" {
		return errors.New("expected pool.NAME, with the name of a pool")
	}
	r.name = steps[0].name
	return nil
}

func (r *reference) agent(steps []step) error {
	known := []string{partLabel, partLabels, partValues}
	if len(steps) == 0 || steps[0].name == "" {
		return fmt.Errorf("expected %[1]s.label, %[1]s.labels.NAME or %[1]s.values.NAME", r.root)
	}
	switch r.part = steps[0].name; r.part {
	case partLabel:
		if len(steps) > 1 {
			return fmt.Errorf("%s.label is the name of the agent; labels are in %s.labels.NAME", r.root, r.root)
		}
		return nil
	case partLabels, partValues:
		if len(steps) < 2 || steps[1].name == "" || r.part == partLabels && len(steps) > 2 {
			return fmt.Errorf("expected %s.%s.NAME", r.root, r.part)
		}
		r.name, r.rest = steps[1].name, steps[2:]
		return nil
	}
	return fmt.Errorf("unknown reference, expected %[1]s.label, %[1]s.labels.NAME or %[1]s.values.NAME%[2]s", r.root, question(suggest.Nearest(r.part, known)))
}

// parsePath reads agent.values.uplinks[0].address, or agent.labels["example.com/site"].
func parsePath(text string) (steps []step, err error) {
	for rest, first := text, true; rest != "" || first; first = false {
		switch {
		case strings.HasPrefix(rest, "["):
			inner, after, closed := cutBracket(rest)
			if !closed || first {
				return nil, errors.New("expected an index such as [0] or a name such as [\"a.b\"] in brackets")
			}
			s, err := parseIndex(inner)
			if err != nil {
				return nil, err
			}
			steps, rest = append(steps, s), after
		default:
			if !first {
				if rest[0] != '.' {
					return nil, fmt.Errorf("expected a dot before %q", short(rest))
				}
				rest = rest[1:]
			}
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			name := rest[:end]
			if name == "" || strings.ContainsAny(name, "]{}\"$ \t\n") {
				return nil, fmt.Errorf("%q: expected a name; one with other characters is written [\"NAME\"]", short(name))
			}
			steps, rest = append(steps, step{name: name}), rest[end:]
		}
	}
	return steps, nil
}

// cutBracket cuts what is in the brackets that a text begins with.
func cutBracket(text string) (inner, after string, closed bool) {
	if quoted, ok := strings.CutPrefix(text, "[\""); ok {
		inner, after, closed = strings.Cut(quoted, "\"]")
		return "\"" + inner, after, closed
	}
	return strings.Cut(text[1:], "]")
}

// maxIndex is the maximum index of an element.
const maxIndex = 1 << 20

func parseIndex(inner string) (step, error) {
	if name, quoted := strings.CutPrefix(inner, "\""); quoted {
		if name == "" {
			return step{}, errors.New("expected a name between the quotes")
		}
		return step{name: name}, nil
	}
	i, err := strconv.Atoi(inner)
	if err != nil || i < 0 || i > maxIndex {
		return step{}, fmt.Errorf("[%s]: expected an index such as [0], or a name in quotes", short(inner))
	}
	return step{index: i}, nil
}

package fleet

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Selector selects objects by their labels, as in Kubernetes: all conditions have to hold.
type Selector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []Requirement     `json:"matchExpressions,omitempty"`
}

// Requirement is a condition of a Selector.
type Requirement struct {
	Key      string   `json:"key"`
	Operator Operator `json:"operator"`
	// Values are for In and NotIn.
	Values []string `json:"values,omitempty"`
}

// Operator is the operator of a Requirement.
type Operator string

// Operators of requirements. NotIn matches objects that lack the label, too.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
)

// Matches reports whether an object with the labels is selected.
func (s Selector) Matches(labels map[string]string) bool {
	for key, want := range s.MatchLabels {
		if have, ok := labels[key]; !ok || have != want {
			return false
		}
	}
	return !slices.ContainsFunc(s.MatchExpressions, func(r Requirement) bool { return !r.matches(labels) })
}

func (r Requirement) matches(labels map[string]string) bool {
	have, ok := labels[r.Key]
	switch r.Operator {
	case In:
		return ok && slices.Contains(r.Values, have)
	case NotIn:
		return !ok || !slices.Contains(r.Values, have)
	case Exists:
		return ok
	default:
		return !ok
	}
}

// Validate returns what is wrong with a selector.
func (s Selector) Validate() error {
	var errs []error
	for key, value := range s.MatchLabels {
		if err := checkLabel(key, value); err != nil {
			errs = append(errs, fmt.Errorf("matchLabels: %w", err))
		}
	}
	for i, r := range s.MatchExpressions {
		if field, err := r.check(); err != nil {
			errs = append(errs, fmt.Errorf("matchExpressions[%d].%s: %w", i, field, err))
		}
	}
	return errors.Join(errs...)
}

// operators are all operators.
func operators() []string {
	return []string{string(In), string(NotIn), string(Exists), string(DoesNotExist)}
}

// check returns what is wrong with a requirement, and the field.
func (r Requirement) check() (field string, err error) {
	if err := checkLabelKey(r.Key); err != nil {
		return "key", err
	}
	for i, value := range r.Values {
		if err := checkLabelValue(value); err != nil {
			return fmt.Sprintf("values[%d]", i), err
		}
	}
	switch r.Operator {
	case In, NotIn:
		if len(r.Values) == 0 {
			return "values", fmt.Errorf("missing; the operator %s needs values", r.Operator)
		}
	case Exists, DoesNotExist:
		if len(r.Values) > 0 {
			return "values", fmt.Errorf("the operator %s has no values", r.Operator)
		}
	default:
		return "operator", fmt.Errorf("%q: expected one of %s%s", r.Operator, strings.Join(operators(), ", "), didYouMean(string(r.Operator), operators()))
	}
	return "", nil
}

// String returns the selector as users write it on the command line: "role=edge,site in (a,b)".
func (s Selector) String() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		parts = append(parts, key+"="+s.MatchLabels[key])
	}
	for _, r := range s.MatchExpressions {
		switch r.Operator {
		case In:
			parts = append(parts, r.Key+" in ("+strings.Join(r.Values, ",")+")")
		case NotIn:
			parts = append(parts, r.Key+" notin ("+strings.Join(r.Values, ",")+")")
		case Exists:
			parts = append(parts, r.Key)
		case DoesNotExist:
			parts = append(parts, "!"+r.Key)
		}
	}
	return strings.Join(parts, ",")
}

// maxLabel is the maximum size of the name and of the value of a label, in bytes.
const maxLabel = 63

var (
	labelKey   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	labelValue = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`)
)

func checkLabel(key, value string) error {
	if err := checkLabelKey(key); err != nil {
		return err
	}
	return checkLabelValue(value)
}

// checkLabelKey reports whether labels can have a key, by the rules of Kubernetes.
func checkLabelKey(key string) error {
	_, name, ok := strings.Cut(key, "/")
	if !ok {
		name = key
	}
	if !labelKey.MatchString(key) || len(name) > maxLabel {
		return fmt.Errorf("%q: expected a name of letters, digits, '-', '_' and '.', such as site or example.com/site", key)
	}
	return nil
}

func checkLabelValue(value string) error {
	if !labelValue.MatchString(value) || len(value) > maxLabel {
		return fmt.Errorf("%q: expected at most %d letters, digits, '-', '_' and '.', with a letter or a digit at both ends", value, maxLabel)
	}
	return nil
}

// ParseSelector reads a selector in the form of String: conditions separated by commas, such as
// "site=paris,role!=core,rack in (a,b),zone notin (c),spare,!old". An empty text selects all.
func ParseSelector(text string) (Selector, error) {
	var s Selector
	for _, part := range splitConditions(text) {
		r, err := parseRequirement(strings.TrimSpace(part))
		if err != nil {
			return Selector{}, err
		}
		if _, err := r.check(); err != nil {
			return Selector{}, err
		}
		if have, given := s.MatchLabels[r.Key]; r.Operator == In && len(r.Values) == 1 && (!given || have == r.Values[0]) {
			if s.MatchLabels == nil {
				s.MatchLabels = map[string]string{}
			}
			s.MatchLabels[r.Key] = r.Values[0]
			continue
		}
		s.MatchExpressions = append(s.MatchExpressions, r)
	}
	return s, nil
}

// splitConditions splits at commas that are not in parentheses.
func splitConditions(text string) (parts []string) {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	depth, start := 0, 0
	for i, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// setCondition is "KEY in (VALUES)" or "KEY notin (VALUES)".
var setCondition = regexp.MustCompile(`^(\S+)\s+(in|notin)\s*\(([^()]*)\)$`)

// parseRequirement reads one condition.
func parseRequirement(text string) (Requirement, error) {
	if m := setCondition.FindStringSubmatch(text); m != nil {
		r := Requirement{Key: m[1], Operator: In}
		if m[2] == "notin" {
			r.Operator = NotIn
		}
		for _, value := range strings.Split(m[3], ",") {
			r.Values = append(r.Values, strings.TrimSpace(value))
		}
		return r, nil
	}
	for _, form := range []struct {
		sign     string
		operator Operator
	}{{"!=", NotIn}, {"==", In}, {"=", In}} {
		if key, value, ok := strings.Cut(text, form.sign); ok {
			return Requirement{Key: strings.TrimSpace(key), Operator: form.operator, Values: []string{strings.TrimSpace(value)}}, nil
		}
	}
	if key, ok := strings.CutPrefix(text, "!"); ok {
		return Requirement{Key: strings.TrimSpace(key), Operator: DoesNotExist}, nil
	}
	if strings.ContainsAny(text, " \t()") || text == "" {
		return Requirement{}, fmt.Errorf("%q: expected a condition such as site=paris, role!=core, rack in (a,b), rack notin (a,b), spare or !spare", text)
	}
	return Requirement{Key: text, Operator: Exists}, nil
}

package restapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// arguments are the query parameters of a request. Its methods return errors with
// status 400 that name the argument and the expected values.
type arguments struct{ values url.Values }

// parseArguments refuses what is not known. A known name with "..." at its end
// may be given several times. Empty arguments count as absent.
func parseArguments(r *http.Request, known []string) (arguments, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return arguments{}, badRequest(fmt.Errorf("query: %w", err))
	}
	var repeatable []string
	names := make([]string, len(known))
	for i, name := range known {
		plain, many := strings.CutSuffix(name, "...")
		if names[i] = plain; many {
			repeatable = append(repeatable, plain)
		}
	}
	known = names
	for name, v := range values {
		if v = slices.DeleteFunc(v, func(text string) bool { return text == "" }); len(v) == 0 {
			values.Del(name) // clients send all arguments that they know
		} else {
			values[name] = v
		}
		switch {
		case !slices.Contains(known, name) && len(known) == 0:
			return arguments{}, badRequest(fmt.Errorf("argument %q: expected no arguments", name))
		case !slices.Contains(known, name):
			return arguments{}, badRequest(fmt.Errorf("argument %q: expected one of %s", name, strings.Join(known, ", ")))
		case len(v) > 1 && !slices.Contains(repeatable, name):
			return arguments{}, badRequest(fmt.Errorf("argument %q: expected once, is given %d times", name, len(v)))
		case slices.ContainsFunc(v, func(text string) bool { return !utf8.ValidString(text) }):
			return arguments{}, badRequest(fmt.Errorf("argument %q: expected text in UTF-8", name))
		}
	}
	return arguments{values}, nil
}

func (a arguments) has(name string) bool      { return a.values.Has(name) }
func (a arguments) text(name string) string   { return a.values.Get(name) }
func (a arguments) list(name string) []string { return a.values[name] }

// required is the text of a mandatory argument.
func (a arguments) required(name, expected string) (string, error) {
	if text := a.text(name); text != "" {
		return text, nil
	}
	return "", badRequest(fmt.Errorf("argument %q is missing: expected %s", name, expected))
}

// oneOf is the text of an argument with a default and a few possible values.
func (a arguments) oneOf(name string, possible ...string) (string, error) {
	if !a.has(name) {
		return possible[0], nil
	}
	if text := a.text(name); slices.Contains(possible, text) {
		return text, nil
	}
	return "", badRequest(fmt.Errorf("argument %q is %q: expected %s", name, a.text(name), strings.Join(possible, " or ")))
}

// onlyOne returns the name of the given one of several exclusive arguments; empty
// if none is given.
func (a arguments) onlyOne(names ...string) (string, error) {
	given := ""
	for _, name := range names {
		if !a.has(name) {
			continue
		}
		if given != "" {
			return "", badRequest(fmt.Errorf("arguments %q and %q: expected only one of them", given, name))
		}
		given = name
	}
	return given, nil
}

func (a arguments) number(name string) (n uint64, given bool, err error) {
	if !a.has(name) {
		return 0, false, nil
	}
	n, err = strconv.ParseUint(a.text(name), 10, 64)
	if err != nil {
		return 0, true, badRequest(fmt.Errorf("argument %q is %q: expected a number from 0 on", name, a.text(name)))
	}
	return n, true, nil
}

// flag is true for "1" and "true".
func (a arguments) flag(name string) (bool, error) {
	if !a.has(name) {
		return false, nil
	}
	on, err := strconv.ParseBool(a.text(name))
	if err != nil {
		return false, badRequest(fmt.Errorf("argument %q is %q: expected 0 or 1", name, a.text(name)))
	}
	return on, nil
}

// confirmed returns an error unless a flag is set that confirms a change.
func (a arguments) confirmed(name string) error {
	on, err := a.flag(name)
	if err == nil && !on {
		err = badRequest(fmt.Errorf("argument %q is missing: expected %s=1; to look only, use GET", name, name))
	}
	return err
}

// time accepts nanoseconds since 1970 and RFC 3339; zero if not given.
func (a arguments) time(name string) (time.Time, error) {
	if !a.has(name) {
		return time.Time{}, nil
	}
	text := a.text(name)
	if ns, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(0, ns), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, badRequest(fmt.Errorf(
			"argument %q is %q: expected nanoseconds since 1970 or a time as in 2026-01-02T15:04:05Z", name, text))
	}
	return t, nil
}

// filter returns the values that the arguments select; given is false if these are all.
func (a arguments) filter(prefix string) (f api.ValueFilter, given bool, err error) {
	f = api.ValueFilter{Prefix: a.text(prefix), Contains: a.text("contains"), Descriptors: a.list("descriptor")}
	f.States, err = a.states()
	return f, len(f.Prefix)+len(f.Contains)+len(f.Descriptors)+len(f.States) > 0, err
}

// states are the states of the argument "state", which may have several, separated by
// commas.
func (a arguments) states() (states []api.ValueState, err error) {
	for _, list := range a.list("state") {
		for name := range strings.SplitSeq(list, ",") {
			state, ok := kvscheduler.ValueState_value[strings.ToUpper(name)]
			if strings.EqualFold(name, "absent") {
				state, ok = int32(kvscheduler.ValueState_NONEXISTENT), true
			}
			if !ok {
				return nil, badRequest(fmt.Errorf("argument %q is %q: expected a state as in CONFIGURED, PENDING, or ABSENT", "state", name))
			}
			states = append(states, kvscheduler.ValueState(state))
		}
	}
	return states, nil
}

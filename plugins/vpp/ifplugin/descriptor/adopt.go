package descriptor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
)

// adoptUntagged takes over the interface that VPP refuses to create a second
// time, if it has no tag and is the desired state: it was left over from a creation
// whose end was not seen. Any other one has an owner, which the error names.
func adoptUntagged(ctx context.Context, vpp *vppcalls.Calls, swIfIndex uint32, same bool, cause error) (uint32, error) {
	owner, tagged, err := ownerOf(ctx, vpp, swIfIndex)
	switch {
	case err != nil:
		return vppcalls.NoInterface, errors.Join(cause, err)
	case owner == "":
		return vppcalls.NoInterface, cause
	case tagged || !same:
		return vppcalls.NoInterface, fmt.Errorf("VPP has it already, as %s: %w", owner, cause)
	}
	return swIfIndex, nil
}

// ownerOf describes an interface for people; "" if it does not exist. Who made one
// without tag is not known.
func ownerOf(ctx context.Context, vpp *vppcalls.Calls, swIfIndex uint32) (owner string, tagged bool, err error) {
	all, err := vpp.DumpInterfaces(ctx)
	for _, d := range all {
		switch {
		case d.SwIfIndex != swIfIndex:
		case d.Tag != "":
			return fmt.Sprintf("interface %q (%s)", d.Tag, d.Name), true, nil
		default:
			return fmt.Sprintf("an interface without tag (%s)", d.Name), false, nil
		}
	}
	return "", false, err
}

// adoptAmong is adoptUntagged for the one of a kind in whose place the wanted one
// was to be created; taken finds it, and same reports that it is the desired state.
func adoptAmong[T any](ctx context.Context, vpp *vppcalls.Calls, dump func(context.Context) (map[uint32]T, error), taken, same func(T) bool, cause error) (uint32, error) {
	all, err := dump(ctx)
	if err != nil {
		return vppcalls.NoInterface, errors.Join(cause, err)
	}
	for idx, found := range all {
		if taken(found) {
			return adoptUntagged(ctx, vpp, idx, same(found), cause)
		}
	}
	return vppcalls.NoInterface, cause
}

// field is a field of the configuration, by its path, and what it says.
type field struct {
	path  string
	value any
}

// conflict says by which fields a value wants what another one has; nil stays nil.
func conflict(err error, fields ...field) error {
	if err == nil {
		return nil
	}
	paths, values := make([]string, len(fields)), make([]string, len(fields))
	for n, f := range fields {
		paths[n], values[n] = f.path, fmt.Sprint(f.value)
		if text, ok := f.value.(string); ok {
			values[n] = fmt.Sprintf("%q", text)
		}
	}
	return fmt.Errorf("%s: %s: %w", strings.Join(paths, ", "), strings.Join(values, ", "), err)
}

// atMost is the error of a number in a field that is too large.
func atMost(field string, value, most uint32) error {
	if value <= most {
		return nil
	}
	return invalid(field, "%d, expected at most %d", value, most)
}

// orDefault replaces 0 by the default.
func orDefault(value, byDefault uint32) uint32 {
	if value == 0 {
		return byDefault
	}
	return value
}

package descriptor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
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

// adoptWhere is adoptUntagged for the first interface that taken finds; same reports that it is
// the desired state.
func adoptWhere(ctx context.Context, vpp *vppcalls.Calls, taken, same func(vppcalls.Details) bool, cause error) (uint32, error) {
	all, err := vpp.DumpInterfaces(ctx)
	if err != nil {
		return vppcalls.NoInterface, errors.Join(cause, err)
	}
	if n := slices.IndexFunc(all, taken); n >= 0 {
		return adoptUntagged(ctx, vpp, all[n].SwIfIndex, same(all[n]), cause)
	}
	return vppcalls.NoInterface, cause
}

// field is a field of the configuration, by its path, and what it says.
type field struct {
	path  string
	value any
}

// fieldsAt returns the fields of an interface at paths, as the configuration has them.
func fieldsAt(i *interfaces.Interface, paths []string) []field {
	fields := make([]field, len(paths))
	for n, path := range paths {
		m, names := i.ProtoReflect(), strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			m = m.Get(m.Descriptor().Fields().ByTextName(name)).Message()
		}
		f := m.Descriptor().Fields().ByTextName(names[len(names)-1])
		value := m.Get(f).Interface()
		switch v := value.(type) {
		case string:
			if a, err := ipconv.ParseAddr(v); err == nil {
				value = a
			}
		case protoreflect.EnumNumber:
			value = f.Enum().Values().ByNumber(v).Name()
		}
		fields[n] = field{path, value}
	}
	return fields
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

// orDefault replaces 0 by the default.
func orDefault(value, byDefault uint32) uint32 {
	if value == 0 {
		return byDefault
	}
	return value
}

// defaultQueue is the size of the queues of a card, in packets, that VPP and the agent use.
const defaultQueue = 1024

// queue says what sizes the queues of a card can have.
type queue struct {
	expected string
	valid    func(size uint32) bool
}

// size returns the size of a queue, the default for 0.
func (q queue) size(r *item.Resolver, field string, n uint32) uint16 {
	if n != 0 && !q.valid(n) {
		r.Fail(field, "%d, expected %s, or 0 for %d", n, q.expected, defaultQueue)
	}
	return uint16(orDefault(n, defaultQueue))
}

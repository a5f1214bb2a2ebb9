package descriptor

import (
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
)

// interfaceList is what finding the owner of an interface needs of VPP.
type interfaceList interface {
	DumpInterfaces() ([]vppcalls.Details, error)
}

// adoptUntagged takes over the interface that VPP refuses to create a second
// time, if it has no tag: it was left over from a creation whose end was not
// seen. One with a tag has an owner, which the error names.
func adoptUntagged(vpp interfaceList, swIfIndex uint32, cause error) (uint32, error) {
	all, err := vpp.DumpInterfaces()
	if err != nil {
		return vppcalls.NoInterface, errors.Join(cause, err)
	}
	for _, d := range all {
		switch {
		case d.SwIfIndex != swIfIndex:
		case d.Tag == "":
			return swIfIndex, nil
		default:
			return vppcalls.NoInterface, fmt.Errorf("VPP has it already, as interface %q (%s): %w", d.Tag, d.Name, cause)
		}
	}
	return vppcalls.NoInterface, cause
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

// adoptAmong is adoptUntagged for the one among all that VPP has of a kind which
// is the same as the one that was to be created.
func adoptAmong[T any](vpp interfaceList, dump func() (map[uint32]T, error), same func(T) bool, cause error) (uint32, error) {
	all, err := dump()
	if err != nil {
		return vppcalls.NoInterface, errors.Join(cause, err)
	}
	for idx, found := range all {
		if same(found) {
			return adoptUntagged(vpp, idx, cause)
		}
	}
	return vppcalls.NoInterface, cause
}

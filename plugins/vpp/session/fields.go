package session

import (
	"reflect"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
)

// Flags returns the flags of a message that are set.
func Flags[F ~uint8 | ~uint32](set map[F]bool) (flags F) {
	for flag, on := range set {
		if on {
			flags |= flag
		}
	}
	return flags
}

// InterfaceIndex returns the index of an interface in a message, in the field SwIfIndex.
func InterfaceIndex(message api.Message) interface_types.InterfaceIndex {
	return reflect.ValueOf(message).Elem().FieldByName("SwIfIndex").Interface().(interface_types.InterfaceIndex)
}

// SameFields makes a T of a message that is a record of it or another version of it: fields
// of the same name have the same meaning.
func SameFields[T any](message api.Message) (t T) {
	from, to := reflect.ValueOf(message).Elem(), reflect.ValueOf(&t).Elem()
	for n := range to.NumField() {
		if f := from.FieldByName(to.Type().Field(n).Name); f.IsValid() {
			to.Field(n).Set(f.Convert(to.Field(n).Type()))
		}
	}
	return t
}

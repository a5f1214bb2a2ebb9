// Package model places Linux interfaces in the key space: the model of
// configured items, and the keys of values derived from them or found in the
// kernel.
package model

import (
	"cmp"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/models"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// InterfaceModel is the model of interfaces.
var InterfaceModel = models.Of[*interfaces.Interface]()

// HostName is the name of an interface in the kernel, unless its type gives it another one.
func HostName(v *interfaces.Interface) string {
	return cmp.Or(v.GetHostIfName(), v.GetName())
}

// Renamed reports whether an update of an interface changes its name in the kernel.
func Renamed(before, after proto.Message) bool {
	a, isA := before.(*interfaces.Interface)
	b, isB := after.(*interfaces.Interface)
	return isA && isB && HostName(a) != HostName(b)
}

// Package model places the checks of source addresses in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	urpf "github.com/tenuto-dev/tenuto/proto/ligato/vpp/urpf"
)

// InterfaceModel places the checks at
// config/vpp/urpf/v1/interface/{interface}/protocol/{protocol}/direction/{direction}.
var InterfaceModel = models.New(models.Spec{Module: "vpp.urpf", Version: "v1", Type: "interface"}, interfaceName)

func interfaceName(i *urpf.Interface) string {
	return i.GetInterface() + "/protocol/" + i.GetProtocol().String() + "/direction/" + i.GetDirection().String()
}

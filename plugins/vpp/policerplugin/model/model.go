// Package model places policers of VPP in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	policer "github.com/tenuto-dev/tenuto/proto/ligato/vpp/policer"
)

// The models.
var (
	// PolicerModel places policers at config/vpp/policer/v1/policer/{name}.
	PolicerModel = models.New(models.Spec{Module: "vpp.policer", Version: "v1", Type: "policer"}, (*policer.Policer).GetName)
	// InterfaceModel places their uses at
	// config/vpp/policer/v1/interface/{interface}/direction/{direction}.
	InterfaceModel = models.New(models.Spec{Module: "vpp.policer", Version: "v1", Type: "interface"}, interfaceName)
)

func interfaceName(i *policer.Interface) string {
	return i.GetInterface() + "/direction/" + i.GetDirection().String()
}

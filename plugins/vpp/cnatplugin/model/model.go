// Package model places CNAT of VPP in the key space.
package model

import (
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/models"
	cnat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/cnat"
)

// The models.
var (
	// GlobalModel is the only item at config/vpp/cnat/v1/global.
	GlobalModel = models.Singleton[*cnat.Global](models.Spec{Module: "vpp.cnat", Version: "v1", Type: "global"})
	// InterfaceModel places interfaces at config/vpp/cnat/v1/interface/{name}.
	InterfaceModel = models.New(models.Spec{Module: "vpp.cnat", Version: "v1", Type: "interface"}, (*cnat.Interface).GetName)
	// TranslationModel places translations at
	// config/vpp/cnat/v1/translation/protocol/{protocol}/vip/{vip}/port/{port}.
	TranslationModel = models.New(models.Spec{Module: "vpp.cnat", Version: "v1", Type: "translation"}, translationName)
)

func translationName(t *cnat.Translation) string {
	return "protocol/" + t.GetProtocol().String() + "/vip/" + t.GetVip() + "/port/" + strconv.FormatUint(uint64(t.GetPort()), 10)
}

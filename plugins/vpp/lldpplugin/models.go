package lldpplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	lldp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/lldp"
)

var (
	// GlobalModel places the settings of all interfaces at config/vpp/lldp/v1/global.
	GlobalModel = models.Of[*lldp.Global]()

	// InterfaceModel places interfaces with LLDP at config/vpp/lldp/v1/interface/{interface}.
	InterfaceModel = models.Of[*lldp.Interface]()
)

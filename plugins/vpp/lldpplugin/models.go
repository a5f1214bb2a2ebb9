package lldpplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	lldp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/lldp"
)

var (
	// GlobalModel is the model of the settings of all interfaces.
	GlobalModel = models.Of[*lldp.Global]()

	// InterfaceModel is the model of interfaces with LLDP.
	InterfaceModel = models.Of[*lldp.Interface]()
)

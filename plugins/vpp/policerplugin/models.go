package policerplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	policer "github.com/tenuto-dev/tenuto/proto/ligato/vpp/policer"
)

// The models.
var (
	// PolicerModel places policers at config/vpp/policer/v1/policer/{name}.
	PolicerModel = models.Of[*policer.Policer]()
	// InterfaceModel places their uses at
	// config/vpp/policer/v1/interface/{interface}/direction/{direction}.
	InterfaceModel = models.Of[*policer.Interface]()
)

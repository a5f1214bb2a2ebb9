package policerplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	policer "github.com/tenuto-dev/tenuto/proto/ligato/vpp/policer"
)

// The models.
var (
	// PolicerModel is the model of policers.
	PolicerModel = models.Of[*policer.Policer]()
	// InterfaceModel is the model of uses of policers on interfaces.
	InterfaceModel = models.Of[*policer.Interface]()
)

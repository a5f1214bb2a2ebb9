package srplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

// GlobalModel is the only item at config/vpp/srv6/v2/srv6-global.
var GlobalModel = models.Of[*srv6.SRv6Global]()

// LocalSIDModel places local segments at config/vpp/srv6/v2/localsid/{segment}.
var LocalSIDModel = models.Of[*srv6.LocalSID]()

// PolicyModel places policies at config/vpp/srv6/v2/policy/{binding segment}.
var PolicyModel = models.Of[*srv6.Policy]()

// SteeringModel places choices of packets at
// config/vpp/srv6/v2/steering/{name}.
var SteeringModel = models.Of[*srv6.Steering]()

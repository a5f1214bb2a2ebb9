package srplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

// GlobalModel has at most one item.
var GlobalModel = models.Of[*srv6.SRv6Global]()

// LocalSIDModel is the model of local segments.
var LocalSIDModel = models.Of[*srv6.LocalSID]()

// PolicyModel is the model of policies.
var PolicyModel = models.Of[*srv6.Policy]()

// SteeringModel is the model of rules that steer packets into policies.
var SteeringModel = models.Of[*srv6.Steering]()

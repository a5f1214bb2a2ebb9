// Package model places IPv6 segment routing of VPP in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

// GlobalModel is the only item at config/vpp/srv6/v2/srv6-global.
var GlobalModel = models.Singleton[*srv6.SRv6Global](
	models.Spec{Module: "vpp.srv6", Version: "v2", Type: "srv6-global"})

// LocalSIDModel places local segments at config/vpp/srv6/v2/localsid/{segment}.
var LocalSIDModel = models.New(
	models.Spec{Module: "vpp.srv6", Version: "v2", Type: "localsid"}, (*srv6.LocalSID).GetSid)

// PolicyModel places policies at config/vpp/srv6/v2/policy/{binding segment}.
var PolicyModel = models.New(
	models.Spec{Module: "vpp.srv6", Version: "v2", Type: "policy"}, (*srv6.Policy).GetBsid)

// SteeringModel places choices of packets at
// config/vpp/srv6/v2/steering/{name}.
var SteeringModel = models.New(
	models.Spec{Module: "vpp.srv6", Version: "v2", Type: "steering"}, (*srv6.Steering).GetName)

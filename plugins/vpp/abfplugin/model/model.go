// Package model places ACL-based forwarding of VPP in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	abf "github.com/tenuto-dev/tenuto/proto/ligato/vpp/abf"
)

// ABFModel is the model of policies.
var ABFModel = models.Of[*abf.ABF]()

// InterfaceKey is the use of a policy on an interface, derived from the
// policy; it carries ABF.AttachedInterface.
var InterfaceKey = models.MustKeyTemplate("vpp/abf/{abf}/interface/{iface}")

// InterfaceIPv6Key is the use for IPv6 packets on an interface that has the policy
// for IPv4 packets as well.
var InterfaceIPv6Key = models.MustKeyTemplate("vpp/abf/{abf}/ipv6-interface/{iface}")

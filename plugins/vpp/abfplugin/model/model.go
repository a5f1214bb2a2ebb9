// Package model places ACL-based forwarding of VPP in the key space.
//
// No plugin handles these items yet: their values are UNIMPLEMENTED.
package model

import (
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/models"
	abf "github.com/tenuto-dev/tenuto/proto/ligato/vpp/abf"
)

// ABFModel places policies at config/vpp/abfs/v2/abf/{index}.
var ABFModel = models.New(models.Spec{Module: "vpp.abfs", Version: "v2", Type: "abf"}, abfName)

// InterfaceKey is the use of a policy on an interface, derived from the
// policy; it carries ABF.AttachedInterface.
var InterfaceKey = models.MustKeyTemplate("vpp/abf/{abf}/interface/{iface}")

func abfName(a *abf.ABF) string { return strconv.FormatUint(uint64(a.GetIndex()), 10) }

// Package model places rules that share an interface with the host ("steal the
// NIC") in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	stn "github.com/tenuto-dev/tenuto/proto/ligato/vpp/stn"
)

// RuleModel places rules at config/vpp/stn/v2/rule/{interface}/ip/{address}.
var RuleModel = models.Of[*stn.Rule]()

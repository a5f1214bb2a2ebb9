package stnplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	stn "github.com/tenuto-dev/tenuto/proto/ligato/vpp/stn"
)

// RuleModel is the model of rules.
var RuleModel = models.Of[*stn.Rule]()

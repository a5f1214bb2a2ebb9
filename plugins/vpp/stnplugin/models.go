package stnplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	stn "github.com/tenuto-dev/tenuto/proto/ligato/vpp/stn"
)

// RuleModel places rules at config/vpp/stn/v2/rule/{interface}/ip/{address}.
var RuleModel = models.Of[*stn.Rule]()

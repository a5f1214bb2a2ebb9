package mssplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	mss "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mss"
)

// ClampModel places the limits at config/vpp/mss/v1/clamp/{interface}.
var ClampModel = models.Of[*mss.Clamp]()

package mssplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	mss "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mss"
)

// ClampModel is the model of segment size limits on interfaces.
var ClampModel = models.Of[*mss.Clamp]()

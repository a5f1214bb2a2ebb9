// Package model places the limits of TCP segments in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	mss "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mss"
)

// ClampModel places the limits at config/vpp/mss/v1/clamp/{interface}.
var ClampModel = models.Of[*mss.Clamp]()

// Package model places VPP interfaces in the key space: the models of
// configured items, and the keys of values derived from them or found in VPP.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// InterfaceModel is the model of interfaces.
var InterfaceModel = models.Of[*interfaces.Interface]()

// SpanModel is the model of port mirroring.
var SpanModel = models.Of[*interfaces.Span]()

// Package model places VPP interfaces in the key space: the models of
// configured items, and the keys of values derived from them or found in VPP.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// InterfaceModel places interfaces at config/vpp/v2/interfaces/{name}.
var InterfaceModel = models.Of[*interfaces.Interface]()

// SpanModel places port mirroring at config/vpp/v2/span/{from}/to/{to}.
var SpanModel = models.Of[*interfaces.Span]()

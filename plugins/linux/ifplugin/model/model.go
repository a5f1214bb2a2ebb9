// Package model places Linux interfaces in the key space: the model of
// configured items, and the keys of values derived from them or found in the
// kernel.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// InterfaceModel places interfaces at
// config/linux/interfaces/v2/interface/{name}.
var InterfaceModel = models.Of[*interfaces.Interface]()

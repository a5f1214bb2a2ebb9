// Package model places the reassembly of IP fragments in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	reassembly "github.com/tenuto-dev/tenuto/proto/ligato/vpp/reassembly"
)

// The models.
var (
	// SettingsModel places the limits at config/vpp/reassembly/v1/settings/{protocol}.
	SettingsModel = models.New(models.Spec{Module: "vpp.reassembly", Version: "v1", Type: "settings"}, settingsName)
	// InterfaceModel places interfaces at config/vpp/reassembly/v1/interface/{interface}.
	InterfaceModel = models.New(models.Spec{Module: "vpp.reassembly", Version: "v1", Type: "interface"}, (*reassembly.Interface).GetInterface)
)

func settingsName(s *reassembly.Settings) string { return s.GetProtocol().String() }

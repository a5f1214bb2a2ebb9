package reassemblyplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	reassembly "github.com/tenuto-dev/tenuto/proto/ligato/vpp/reassembly"
)

// The models.
var (
	// SettingsModel is the model of reassembly limits.
	SettingsModel = models.Of[*reassembly.Settings]()
	// InterfaceModel is the model of interfaces with full reassembly.
	InterfaceModel = models.Of[*reassembly.Interface]()
)

package reassemblyplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	reassembly "github.com/tenuto-dev/tenuto/proto/ligato/vpp/reassembly"
)

// The models.
var (
	// SettingsModel places the limits at config/vpp/reassembly/v1/settings/{protocol}.
	SettingsModel = models.Of[*reassembly.Settings]()
	// InterfaceModel places interfaces at config/vpp/reassembly/v1/interface/{interface}.
	InterfaceModel = models.Of[*reassembly.Interface]()
)

package urpfplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	urpf "github.com/tenuto-dev/tenuto/proto/ligato/vpp/urpf"
)

// InterfaceModel places the checks at
// config/vpp/urpf/v1/interface/{interface}/protocol/{protocol}/direction/{direction}.
var InterfaceModel = models.Of[*urpf.Interface]()

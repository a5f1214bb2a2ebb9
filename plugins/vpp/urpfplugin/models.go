package urpfplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	urpf "github.com/tenuto-dev/tenuto/proto/ligato/vpp/urpf"
)

// InterfaceModel is the model of reverse path checks on interfaces.
var InterfaceModel = models.Of[*urpf.Interface]()

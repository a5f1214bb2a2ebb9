package linuxcpplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	linuxcp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/linuxcp"
)

// GlobalModel places the settings at config/vpp/linuxcp/v1/global.
var GlobalModel = models.Of[*linuxcp.Global]()

// PairModel places pairs at config/vpp/linuxcp/v1/pair/{interface}.
var PairModel = models.Of[*linuxcp.Pair]()

package linuxcpplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	linuxcp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/linuxcp"
)

// GlobalModel is the model of the settings of linux-cp.
var GlobalModel = models.Of[*linuxcp.Global]()

// PairModel is the model of pairs.
var PairModel = models.Of[*linuxcp.Pair]()

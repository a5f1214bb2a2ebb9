package pmtuplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	pmtu "github.com/tenuto-dev/tenuto/proto/ligato/vpp/pmtu"
)

// PathMTUModel is the model of path MTUs.
var PathMTUModel = models.Of[*pmtu.PathMTU]()

package pmtuplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	pmtu "github.com/tenuto-dev/tenuto/proto/ligato/vpp/pmtu"
)

// PathMTUModel places path MTUs at config/vpp/pmtu/v1/path-mtu/vrf/{vrf}/address/{address}.
var PathMTUModel = models.Of[*pmtu.PathMTU]()

// Package model places path MTUs in the key space.
package model

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/infra/models"
	pmtu "github.com/tenuto-dev/tenuto/proto/ligato/vpp/pmtu"
)

// PathMTUModel places path MTUs at config/vpp/pmtu/v1/path-mtu/vrf/{vrf}/address/{address}.
var PathMTUModel = models.New(models.Spec{Module: "vpp.pmtu", Version: "v1", Type: "path-mtu"}, pathMTUName)

func pathMTUName(m *pmtu.PathMTU) string {
	return fmt.Sprintf("vrf/%d/address/%s", m.GetVrf(), m.GetAddress())
}

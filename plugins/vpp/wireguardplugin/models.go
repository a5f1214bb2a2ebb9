package wireguardplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	wireguard "github.com/tenuto-dev/tenuto/proto/ligato/vpp/wireguard"
)

// PeerModel places peers at
// config/vpp/wg/v1/peer/{interface}/endpoint/{address}/{port}.
var PeerModel = models.Of[*wireguard.Peer]()

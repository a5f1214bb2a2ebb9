package wireguardplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	wireguard "github.com/tenuto-dev/tenuto/proto/ligato/vpp/wireguard"
)

// PeerModel is the model of peers.
var PeerModel = models.Of[*wireguard.Peer]()

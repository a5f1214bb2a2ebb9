// Package model places WireGuard peers of VPP in the key space.
package model

import (
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/models"
	wireguard "github.com/tenuto-dev/tenuto/proto/ligato/vpp/wireguard"
)

// PeerModel places peers at
// config/vpp/wg/v1/peer/{interface}/endpoint/{address}/{port}.
var PeerModel = models.New(models.Spec{Module: "vpp.wg", Version: "v1", Type: "peer"}, peerName)

func peerName(p *wireguard.Peer) string {
	return p.GetWgIfName() + "/endpoint/" + p.GetEndpoint() + "/" + strconv.FormatUint(uint64(p.GetPort()), 10)
}

package ip6ndplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	ip6nd "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ip6nd"
)

// RouterAdvertisementModel places router advertisements at config/vpp/ip6nd/v1/ra/{interface}.
var RouterAdvertisementModel = models.Of[*ip6nd.RouterAdvertisement]()

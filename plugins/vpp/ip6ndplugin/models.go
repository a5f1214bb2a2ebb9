package ip6ndplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	ip6nd "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ip6nd"
)

// RouterAdvertisementModel is the model of router advertisements.
var RouterAdvertisementModel = models.Of[*ip6nd.RouterAdvertisement]()

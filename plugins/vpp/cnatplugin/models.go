package cnatplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	cnat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/cnat"
)

// The models.
var (
	// GlobalModel is the only item at config/vpp/cnat/v1/global.
	GlobalModel = models.Of[*cnat.Global]()
	// InterfaceModel places interfaces at config/vpp/cnat/v1/interface/{name}.
	InterfaceModel = models.Of[*cnat.Interface]()
	// TranslationModel places translations at
	// config/vpp/cnat/v1/translation/protocol/{protocol}/vip/{vip}/port/{port}.
	TranslationModel = models.Of[*cnat.Translation]()
)

package cnatplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	cnat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/cnat"
)

// The models.
var (
	// GlobalModel has at most one item.
	GlobalModel = models.Of[*cnat.Global]()
	// InterfaceModel is the model of interfaces with source NAT.
	InterfaceModel = models.Of[*cnat.Interface]()
	// TranslationModel is the model of translations.
	TranslationModel = models.Of[*cnat.Translation]()
)

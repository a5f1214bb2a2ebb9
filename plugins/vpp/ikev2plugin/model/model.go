// Package model places IKEv2 of VPP in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	ikev2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ikev2"
)

// GlobalModel places the settings of all profiles at config/vpp/ikev2/v1/global.
var GlobalModel = models.Singleton[*ikev2.Global](models.Spec{Module: "vpp.ikev2", Version: "v1", Type: "global"})

// ProfileModel places profiles at config/vpp/ikev2/v1/profile/{name}.
var ProfileModel = models.New(models.Spec{Module: "vpp.ikev2", Version: "v1", Type: "profile"}, (*ikev2.Profile).GetName)

// LocalKeyKey exists while VPP has a private key of the configuration. Profiles with certificates
// wait for it.
const LocalKeyKey = "vpp/ikev2/local-key"

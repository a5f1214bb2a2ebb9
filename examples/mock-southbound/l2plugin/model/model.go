// Package model is the northbound model of bridge domains and forwarding
// entries, and the key of a membership, which is derived.
package model

import "github.com/tenuto-dev/tenuto/infra/models"

//go:generate sh ../../../../proto/generate-one.sh

// ModelBridgeDomain says that bridge domains have the keys
// config/mock/l2/v1/bridge-domain/<name>.
var ModelBridgeDomain = models.New(models.Spec{Module: "mock.l2", Version: "v1", Type: "bridge-domain"}, (*BridgeDomain).GetName)

// ModelFIBEntry says that forwarding entries have the keys
// config/mock/l2/v1/fib/<bridge domain>/mac/<address>.
var ModelFIBEntry = models.New(models.Spec{Module: "mock.l2", Version: "v1", Type: "fib"}, func(e *FIBEntry) string {
	return e.GetBridgeDomain() + "/mac/" + e.GetPhysAddress()
})

// BDInterfaceKey is the key of the membership of an interface.
var BDInterfaceKey = models.MustKeyTemplate("mock/bd/{bd}/interface/{iface}")

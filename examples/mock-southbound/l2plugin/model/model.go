// Package model is the northbound model of bridge domains and forwarding
// entries, and the key of a membership, which is derived.
package model

import "github.com/tenuto-dev/tenuto/infra/models"

//go:generate go run -mod=mod github.com/tenuto-dev/tenuto/proto/protogen

// ModelBridgeDomain places bridge domains at config/mock/l2/v1/bridge-domain/{name}.
var ModelBridgeDomain = models.Of[*BridgeDomain]()

// ModelFIBEntry places forwarding entries at config/mock/l2/v1/fib/{bridge_domain}/mac/{phys_address}.
var ModelFIBEntry = models.Of[*FIBEntry]()

// BDInterfaceKey is the key of the membership of an interface.
var BDInterfaceKey = models.MustKeyTemplate("mock/bd/{bd}/interface/{iface}")

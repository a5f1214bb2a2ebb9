// Package model places layer 2 items of VPP in the key space: bridge
// domains, their static entries and cross-connects.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// BridgeDomainModel is the model of bridge domains.
var BridgeDomainModel = models.Of[*l2.BridgeDomain]()

// FIBModel is the model of static entries. The address is part of the key as it is spelled.
var FIBModel = models.Of[*l2.FIBEntry]()

// XConnectModel is the model of cross-connects.
var XConnectModel = models.Of[*l2.XConnectPair]()

// BDInterfaceKey is the attachment of an interface to a bridge domain, derived
// from the bridge domain; it carries BridgeDomain.Interface. Static entries
// wait for it.
var BDInterfaceKey = models.MustKeyTemplate("vpp/bd/{bd}/interface/{iface}")

// Package model places access control lists of VPP in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
)

// ACLModel is the model of access control lists.
var ACLModel = models.Of[*acl.ACL]()

// InterfaceKey is the use of a list on an interface, derived from the list;
// {direction} is "ingress" or "egress".
var InterfaceKey = models.MustKeyTemplate("vpp/acl/{acl}/interface/{direction}/{iface}")

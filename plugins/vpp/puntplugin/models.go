package puntplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/vpp/punt"
)

// IPRedirectModel places redirections at
// config/vpp/v2/ipredirect/l3/{protocol}/tx/{interface}.
var IPRedirectModel = models.Of[*punt.IPRedirect]()

// ToHostModel places registrations of sockets at
// config/vpp/v2/tohost/l3/{protocol}/l4/{protocol}/port/{port}.
var ToHostModel = models.Of[*punt.ToHost]()

// ExceptionModel places registrations of sockets for packets with a problem at
// config/vpp/v2/exception/reason/{reason}.
var ExceptionModel = models.Of[*punt.Exception]()

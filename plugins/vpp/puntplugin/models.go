package puntplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/vpp/punt"
)

// IPRedirectModel is the model of redirections.
var IPRedirectModel = models.Of[*punt.IPRedirect]()

// ToHostModel is the model of registrations of sockets.
var ToHostModel = models.Of[*punt.ToHost]()

// ExceptionModel is the model of registrations of sockets for packets with a problem.
var ExceptionModel = models.Of[*punt.Exception]()

// Package model places items that hand packets to the host in the key space.
package model

import (
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/models"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/vpp/punt"
)

// IPRedirectModel places redirections at
// config/vpp/v2/ipredirect/l3/{protocol}/tx/{interface}.
var IPRedirectModel = models.New(models.Spec{Module: "vpp", Version: "v2", Type: "ipredirect"}, ipRedirectName)

// ToHostModel places registrations of sockets at
// config/vpp/v2/tohost/l3/{protocol}/l4/{protocol}/port/{port}.
var ToHostModel = models.New(models.Spec{Module: "vpp", Version: "v2", Type: "tohost"}, toHostName)

// ExceptionModel places registrations of sockets for packets with a problem at
// config/vpp/v2/exception/reason/{reason}.
var ExceptionModel = models.New(models.Spec{Module: "vpp", Version: "v2", Type: "exception"}, exceptionName)

func ipRedirectName(r *punt.IPRedirect) string {
	return "l3/" + r.GetL3Protocol().String() + "/tx/" + r.GetTxInterface()
}

func toHostName(h *punt.ToHost) string {
	return "l3/" + h.GetL3Protocol().String() + "/l4/" + h.GetL4Protocol().String() +
		"/port/" + strconv.FormatUint(uint64(h.GetPort()), 10)
}

func exceptionName(e *punt.Exception) string { return "reason/" + e.GetReason() }

// Package model places the packet classifier of VPP in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	classify "github.com/tenuto-dev/tenuto/proto/ligato/vpp/classify"
)

// The models.
var (
	// TableModel places tables at config/vpp/classify/v1/table/{name}.
	TableModel = models.New(models.Spec{Module: "vpp.classify", Version: "v1", Type: "table"}, (*classify.Table).GetName)
	// SessionModel places sessions at config/vpp/classify/v1/session/table/{table}/match/{match}.
	SessionModel = models.New(models.Spec{Module: "vpp.classify", Version: "v1", Type: "session"}, func(s *classify.Session) string {
		return "table/" + s.GetTable() + "/match/" + s.GetMatch()
	})
	// BindingModel places bindings at
	// config/vpp/classify/v1/binding/{interface}/hook/{hook}/packets/{packets}.
	BindingModel = models.New(models.Spec{Module: "vpp.classify", Version: "v1", Type: "binding"}, func(b *classify.Binding) string {
		return b.GetInterface() + "/hook/" + b.GetHook().String() + "/packets/" + b.GetPackets().String()
	})
)

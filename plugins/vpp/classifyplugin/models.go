package classifyplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	classify "github.com/tenuto-dev/tenuto/proto/ligato/vpp/classify"
)

// The models.
var (
	// TableModel places tables at config/vpp/classify/v1/table/{name}.
	TableModel = models.Of[*classify.Table]()
	// SessionModel places sessions at config/vpp/classify/v1/session/table/{table}/match/{match}.
	SessionModel = models.Of[*classify.Session]()
	// BindingModel places bindings at
	// config/vpp/classify/v1/binding/{interface}/hook/{hook}/packets/{packets}.
	BindingModel = models.Of[*classify.Binding]()
)

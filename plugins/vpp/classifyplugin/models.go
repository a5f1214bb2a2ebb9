package classifyplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	classify "github.com/tenuto-dev/tenuto/proto/ligato/vpp/classify"
)

// The models.
var (
	// TableModel is the model of tables.
	TableModel = models.Of[*classify.Table]()
	// SessionModel is the model of sessions.
	SessionModel = models.Of[*classify.Session]()
	// BindingModel is the model of bindings.
	BindingModel = models.Of[*classify.Binding]()
)

package qosplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	qos "github.com/tenuto-dev/tenuto/proto/ligato/vpp/qos"
)

// The models.
var (
	// MapModel places maps at config/vpp/qos/v1/map/{id}.
	MapModel = models.Of[*qos.Map]()
	// RecordModel places what is read at config/vpp/qos/v1/record/{interface}/source/{source}.
	RecordModel = models.Of[*qos.Record]()
	// StoreModel places values at config/vpp/qos/v1/store/{interface}.
	StoreModel = models.Of[*qos.Store]()
	// MarkModel places what is written at config/vpp/qos/v1/mark/{interface}/output/{output}.
	MarkModel = models.Of[*qos.Mark]()
)

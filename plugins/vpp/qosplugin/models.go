package qosplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	qos "github.com/tenuto-dev/tenuto/proto/ligato/vpp/qos"
)

// The models.
var (
	// MapModel is the model of maps.
	MapModel = models.Of[*qos.Map]()
	// RecordModel is the model of interfaces on which VPP records QoS bits.
	RecordModel = models.Of[*qos.Record]()
	// StoreModel is the model of interfaces whose packets get a fixed QoS value.
	StoreModel = models.Of[*qos.Store]()
	// MarkModel is the model of interfaces on which VPP marks packets.
	MarkModel = models.Of[*qos.Mark]()
)

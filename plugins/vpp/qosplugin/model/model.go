// Package model places the handling of QoS bits of VPP in the key space.
package model

import (
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/models"
	qos "github.com/tenuto-dev/tenuto/proto/ligato/vpp/qos"
)

// The models.
var (
	// MapModel places maps at config/vpp/qos/v1/map/{id}.
	MapModel = models.New(models.Spec{Module: "vpp.qos", Version: "v1", Type: "map"}, mapName)
	// RecordModel places what is read at config/vpp/qos/v1/record/{interface}/source/{source}.
	RecordModel = models.New(models.Spec{Module: "vpp.qos", Version: "v1", Type: "record"}, recordName)
	// StoreModel places values at config/vpp/qos/v1/store/{interface}.
	StoreModel = models.New(models.Spec{Module: "vpp.qos", Version: "v1", Type: "store"}, (*qos.Store).GetInterface)
	// MarkModel places what is written at config/vpp/qos/v1/mark/{interface}/output/{output}.
	MarkModel = models.New(models.Spec{Module: "vpp.qos", Version: "v1", Type: "mark"}, markName)
)

func mapName(m *qos.Map) string { return strconv.FormatUint(uint64(m.GetId()), 10) }

func recordName(r *qos.Record) string { return r.GetInterface() + "/source/" + r.GetSource().String() }

func markName(m *qos.Mark) string { return m.GetInterface() + "/output/" + m.GetOutput().String() }

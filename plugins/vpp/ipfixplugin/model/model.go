// Package model places measurement and export of flows in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	ipfix "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipfix"
)

// IPFIXModel is the only item at config/vpp/ipfix/v2/ipfix.
var IPFIXModel = models.Singleton[*ipfix.IPFIX](
	models.Spec{Module: "vpp.ipfix", Version: "v2", Type: "ipfix"})

// FlowProbeParamsModel is the only item at config/vpp/ipfix/v2/flowprobe-params.
var FlowProbeParamsModel = models.Singleton[*ipfix.FlowProbeParams](
	models.Spec{Module: "vpp.ipfix", Version: "v2", Type: "flowprobe-params"})

// FlowProbeFeatureModel places measured interfaces at
// config/vpp/ipfix/v2/flowprobe-feature/{interface}.
var FlowProbeFeatureModel = models.New(
	models.Spec{Module: "vpp.ipfix", Version: "v2", Type: "flowprobe-feature"},
	(*ipfix.FlowProbeFeature).GetInterface)

package ipfixplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	ipfix "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipfix"
)

// IPFIXModel has at most one item.
var IPFIXModel = models.Of[*ipfix.IPFIX]()

// FlowProbeParamsModel has at most one item.
var FlowProbeParamsModel = models.Of[*ipfix.FlowProbeParams]()

// FlowProbeFeatureModel is the model of measured interfaces.
var FlowProbeFeatureModel = models.Of[*ipfix.FlowProbeFeature]()

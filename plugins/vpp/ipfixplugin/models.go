package ipfixplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	ipfix "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipfix"
)

// IPFIXModel is the only item at config/vpp/ipfix/v2/ipfix.
var IPFIXModel = models.Of[*ipfix.IPFIX]()

// FlowProbeParamsModel is the only item at config/vpp/ipfix/v2/flowprobe-params.
var FlowProbeParamsModel = models.Of[*ipfix.FlowProbeParams]()

// FlowProbeFeatureModel places measured interfaces at
// config/vpp/ipfix/v2/flowprobe-feature/{interface}.
var FlowProbeFeatureModel = models.Of[*ipfix.FlowProbeFeature]()

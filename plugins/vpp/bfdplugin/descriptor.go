package bfdplugin

import "github.com/tenuto-dev/tenuto/plugins/vpp/session"

// Names of the descriptors.
const (
	AuthKeyName    = "vpp-bfd-auth-key"
	SessionName    = "vpp-bfd-session"
	StateName      = "vpp-bfd-session-state"
	EchoSourceName = "vpp-bfd-echo-source"
)

// Operations are what the items need of VPP.
var Operations session.Operations

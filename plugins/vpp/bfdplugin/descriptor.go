package bfdplugin

// Names of the descriptors.
const (
	AuthKeyName    = "vpp-bfd-auth-key"
	SessionName    = "vpp-bfd-session"
	StateName      = "vpp-bfd-session-state"
	EchoSourceName = "vpp-bfd-echo-source"
)

// Package gnmi tests the gNMI service of vpp-agent with the reference client, gnmi_cli and its
// libraries. It is a module of its own, so that programs that import the agent do not require
// the client.
package gnmi

package vnet

import "go.fd.io/govpp/binapi/interface_types"

// createDevices makes the devices that VPP finds when it starts. After a restart they have the
// same MAC addresses, as cards do.
func (n *VNet) createDevices() {
	for _, name := range n.cfg.Devices {
		n.createDevice(&hwInterface{name: name, device: "dpdk", anyFrame: true})
	}
}

// createDevice makes a device without a request of the API.
func (n *VNet) createDevice(hw *hwInterface) *swInterface {
	hw.ethernet, hw.mac, hw.rxQueues = true, n.randomMAC(), makeQueues(1, interface_types.RX_MODE_API_POLLING)
	n.linkFollowsAdmin(hw)
	return n.createHardware(hw)
}

// CreatePacketGenerator makes an interface of the packet generator, and reports whether the name
// is free. For clients it is a device like any other.
func (n *VNet) CreatePacketGenerator(name string) bool {
	for _, hw := range n.hws.all() {
		if hw.name == name {
			return false
		}
	}
	n.createDevice(&hwInterface{name: name, device: "pg"})
	return true
}

package vnet

import (
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	interfaces_api "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
)

// ifEvent is a set of things that happened to an interface.
type ifEvent uint8

const (
	ifLinkUp ifEvent = 1 << iota
	ifLinkDown
	ifAdminUp
	ifAdminDown
	ifAdded
	ifDeleted
)

func adminEvent(up bool) ifEvent {
	if up {
		return ifAdminUp
	}
	return ifAdminDown
}

func linkEvent(up bool) ifEvent {
	if up {
		return ifLinkUp
	}
	return ifLinkDown
}

// interfaceEvents collects what happened during one request: VPP too sends one
// event per interface after it is done with the requests at hand.
type interfaceEvents struct {
	subscribers map[uint32]uint32 // client index to the pid it gave
	pending     map[uint32]ifEvent
}

// signal notes an event for an interface.
func (n *VNet) signal(index uint32, e ifEvent) { n.events.pending[index] |= e }

// flushInterfaceEvents sends the collected events. The flags of an event say what
// has just come up, not what is up: a link coming up under an interface that was
// already enabled shows the link flag alone.
func (n *VNet) flushInterfaceEvents() {
	if len(n.events.pending) == 0 {
		return
	}
	for _, index := range slices.Sorted(maps.Keys(n.events.pending)) {
		happened := n.events.pending[index]
		event := &interfaces_api.SwInterfaceEvent{
			SwIfIndex: ifIndex(index),
			Deleted:   happened&ifDeleted != 0,
		}
		if happened&ifAdminUp != 0 {
			event.Flags |= interface_types.IF_STATUS_API_FLAG_ADMIN_UP
		}
		if happened&ifLinkUp != 0 {
			event.Flags |= interface_types.IF_STATUS_API_FLAG_LINK_UP
		}
		for _, client := range slices.Sorted(maps.Keys(n.events.subscribers)) {
			event.PID = n.events.subscribers[client]
			n.server.SendEvent(client, event)
		}
	}
	clear(n.events.pending)
}

func (n *VNet) handleInterfaceEvents() {
	wire.Handle(n.server, func(c *wire.Call, req *interfaces_api.WantInterfaceEvents) *interfaces_api.WantInterfaceEventsReply {
		_, subscribed := n.events.subscribers[c.Client]
		rv := ok
		switch {
		case subscribed == (req.EnableDisable != 0):
			rv = api.INVALID_REGISTRATION
		case subscribed:
			delete(n.events.subscribers, c.Client)
		default:
			n.events.subscribers[c.Client] = req.PID
		}
		return &interfaces_api.WantInterfaceEventsReply{Retval: int32(rv)}
	})
}

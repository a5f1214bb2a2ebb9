package vnet

import (
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	interfaces_api "go.fd.io/govpp/binapi/interface"
)

// feature is a part of VPP beside the core: a struct with its own state that embeds
// the VNet it is a part of, in a file of its own. It also implements the interfaces
// below that it needs; new ones are added here, together with the code that calls
// them.
type feature interface {
	// register registers the handlers of its messages, once.
	register(server *wire.Server)
	// reset goes back to the state of a VPP that has just started. It is called
	// before the first request too.
	reset()
}

// dumper is a feature with a part of its own in VNet.Dump, below the core's parts.
type dumper interface{ dump(b *strings.Builder) }

// interfaceDumper is a feature that writes indented lines about an interface, below
// its addresses.
type interfaceDumper interface {
	dumpInterface(b *strings.Builder, i *swInterface)
}

// interfaceDetailer is a feature that fills in fields of sw_interface_details.
type interfaceDetailer interface {
	interfaceDetails(d *interfaces_api.SwInterfaceDetails, i *swInterface)
}

// interfaceRemover is a feature that cleans up behind an interface, which is down
// and has its addresses and its place in L2 still. Most features of VPP do not.
type interfaceRemover interface{ interfaceRemoved(i *swInterface) }

// interfaceRebinder is a feature that has something in the table that an interface
// is bound to: it moves that to another one. The interface is in the old one still.
type interfaceRebinder interface {
	interfaceRebind(i *swInterface, f family, table uint32)
}

// l2Leaver is a feature that keeps something for an interface in L2, by its
// sw_if_index: the interface went back to L3, or no longer exists.
type l2Leaver interface{ leftL2(index uint32) }

// requestFollower is a feature that reacts to what a request caused: the pending
// events say what happened to interfaces, and it may add some.
type requestFollower interface{ afterRequest() }

// clientFollower is a feature that keeps something for a client, which is gone.
type clientFollower interface{ clientGone(client uint32) }

// commander is a feature with commands in VPP's command line.
type commander interface{ commands() []cmdline.Command }

//go:generate go run github.com/tenuto-dev/tenuto/infra/funclist -type "func(n *VNet) feature" -var constructors

// makeFeatures makes all features, in the order of the names of their constructors. Registering,
// resetting, the dump, and the calls of the interfaces above have the same order: bonds come before
// virtualRouters, which see what bonds do to links.
func (n *VNet) makeFeatures() {
	for _, construct := range constructors {
		n.features = append(n.features, construct(n))
	}
	n.hooks = hooksOf(n.features)
}

// hooks are the features that the core calls, by what it calls.
type hooks struct {
	dumpers          []dumper
	interfaceDumpers []interfaceDumper
	detailers        []interfaceDetailer
	removers         []interfaceRemover
	rebinders        []interfaceRebinder
	l2Leavers        []l2Leaver
	followers        []requestFollower
	clientFollowers  []clientFollower
	commanders       []commander
}

func hooksOf(all []feature) hooks {
	return hooks{
		dumpers:          implementing[dumper](all),
		interfaceDumpers: implementing[interfaceDumper](all),
		detailers:        implementing[interfaceDetailer](all),
		removers:         implementing[interfaceRemover](all),
		rebinders:        implementing[interfaceRebinder](all),
		l2Leavers:        implementing[l2Leaver](all),
		followers:        implementing[requestFollower](all),
		clientFollowers:  implementing[clientFollower](all),
		commanders:       implementing[commander](all),
	}
}

// implementing returns the features that implement H, in their order.
func implementing[H any](all []feature) []H {
	var some []H
	for _, f := range all {
		if h, implements := f.(H); implements {
			some = append(some, h)
		}
	}
	return some
}

package descriptor

import (
	"context"

	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// linkKind is what distinguishes one type of interface from the others. The
// methods check, dependencies, identities, sameLink, claims and traits are pure.
type linkKind interface {
	traits() traits
	// check reports what is wrong with the link of the interface.
	check(i *interfaces.Interface) error
	dependencies(i *interfaces.Interface) []kvs.Dependency
	// identities are what VPP has once; see kvs.Descriptor.
	identities(i *interfaces.Interface) []string
	// sameLink reports that the links of two interfaces of the same name are
	// equivalent; if not, the interface must be re-created.
	sameLink(a, b *interfaces.Interface) bool
	// create makes the interface, with the MAC address if it is given, and
	// returns the metadata that follow from that.
	create(ctx context.Context, i *interfaces.Interface, mac *vppcalls.MAC) (*ifaceidx.IfMeta, error)
	// remove deletes the interface; if it is gone already, that is a success.
	remove(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error
	// afterAdminDown is called when the interface was set down and stays.
	afterAdminDown(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error
	// claims reports whether d, found in VPP, is of this kind. No two kinds claim
	// the same interface.
	claims(d vppcalls.Details) bool
	// read reads what VPP reports about the interfaces of this kind; it is called once
	// for all of them, and only if there are any. names gives the logical name of
	// an interface by its index, "" if it has none.
	read(ctx context.Context, names func(swIfIndex uint32) string) (recogniser, error)
}

// recogniser fills the type and the link of i and what it knows of m from d,
// which is of the kind. wanted is the value expected under this name, or nil.
// False means that nothing is known of d: it has gone meanwhile.
type recogniser func(d vppcalls.Details, wanted, i *interfaces.Interface, m *ifaceidx.IfMeta) bool

// linkUpdater is a kind whose link can change in part while the interface
// exists.
type linkUpdater interface {
	// inPlace reports that the link of b can be made of the one of a.
	inPlace(a, b *interfaces.Interface) bool
	updateLink(ctx context.Context, old, i *interfaces.Interface, m *ifaceidx.IfMeta) error
}

// kindDefaults are the answers of most kinds.
type kindDefaults struct{}

func (kindDefaults) identities(*interfaces.Interface) []string { return nil }

func (kindDefaults) dependencies(*interfaces.Interface) []kvs.Dependency { return nil }

func (kindDefaults) sameLink(_, _ *interfaces.Interface) bool { return true }

func (kindDefaults) afterAdminDown(context.Context, *interfaces.Interface, *ifaceidx.IfMeta) error {
	return nil
}

// traits are facts about a type of interface.
type traits struct {
	// tagged: create sets the tag.
	tagged bool
	// macInPlace: the MAC address can be changed while the interface exists.
	macInPlace bool
	// macAfter: create does not set the MAC address.
	macAfter bool
	// packetMTU: the MTU is only a limit for IP packets, not one of a device; the
	// default MTU of the agent does not apply.
	packetMTU bool
	// initialMTU is the MTU that VPP gives to the interface; nil: etherMTU.
	initialMTU func(i *interfaces.Interface) uint32
	// startsUp: VPP creates it administratively up.
	startsUp bool
	// found: VPP has the interface before the agent, and after it.
	found bool
	// hidden: VPP hides the interface when it is deleted, and uses it for the next one of
	// its type, with its tag, its MTU and its MAC address.
	hidden bool
	// link makes an empty message of the link; nil for types without one.
	link func() proto.Message
	// linkOptional: a missing link means all defaults.
	linkOptional bool
}

// noInitialMTU is a traits.initialMTU for interfaces without an MTU of their own.
func noInitialMTU(*interfaces.Interface) uint32 { return 0 }

// deviceMTU is a traits.initialMTU for devices, which choose their MTU.
func deviceMTU(*interfaces.Interface) uint32 { return ifaceidx.UnknownMTU }

// linkOf returns the message in the oneof link, nil if there is none.
func linkOf(i *interfaces.Interface) proto.Message {
	r := i.ProtoReflect()
	field := r.WhichOneof(r.Descriptor().Oneofs().ByName("link"))
	if field == nil {
		return nil
	}
	return r.Get(field).Message().Interface()
}

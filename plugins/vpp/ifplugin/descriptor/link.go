package descriptor

import (
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// linkKind is what distinguishes one type of interface from the others. The
// methods check, dependencies, sameLink, recognise and traits are pure.
type linkKind interface {
	traits() traits
	// check reports what is wrong with the link of the interface.
	check(i *interfaces.Interface) error
	dependencies(i *interfaces.Interface) []kvs.Dependency
	// sameLink tells that the links of two interfaces of the same name are
	// equivalent; if not, the interface must be re-created.
	sameLink(a, b *interfaces.Interface) bool
	// create makes the interface, with the MAC address if it is given, and
	// returns the metadata that follow from that.
	create(i *interfaces.Interface, mac *vppcalls.MAC) (*ifaceidx.IfMeta, error)
	// remove deletes the interface; if it is gone already, that is a success.
	remove(i *interfaces.Interface, m *ifaceidx.IfMeta) error
	// afterAdminDown is called when the interface was set down and stays.
	afterAdminDown(i *interfaces.Interface) error
	// recognise tells whether d, found in VPP, is of this kind, and if so fills
	// the type and the link of i and what it knows of m. wanted is the value
	// expected under this name, or nil.
	recognise(d vppcalls.Details, all dumps, wanted, i *interfaces.Interface, m *ifaceidx.IfMeta) bool
}

// traits are facts about a type of interface.
type traits struct {
	// tagged: create sets the tag.
	tagged bool
	// macInPlace: the MAC address can be changed while the interface exists.
	macInPlace bool
	// macAfter: create does not set the MAC address.
	macAfter bool
	// link makes an empty message of the link; nil for types without one.
	link func() proto.Message
	// linkOptional: a missing link means all defaults.
	linkOptional bool
}

// dumps are the details of all interfaces of the types that have some.
type dumps struct {
	taps  map[uint32]vppcalls.Tap
	hosts map[uint32]string // host interfaces of AF_PACKET
}

// linkOf returns the message in the oneof link, nil if there is none.
func linkOf(i *interfaces.Interface) proto.Message {
	r := i.ProtoReflect()
	field := r.WhichOneof(r.Descriptor().Oneofs().ByName("link"))
	if field == nil {
		return nil
	}
	return r.Get(field).Message().Interface()
}

package descriptor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// Most types of links are made from parameters and report them. A type of this form is
// declared by a spec, one small file each; what they have in common is here.
//
// A link with a parent is made in the namespace of the parent and then moved into its
// own, where the kernel keeps the two together. The alias remembers the parent:
// "<label>/<name>/<parent>".

// parentDependency is the label of the dependency on the parent.
const parentDependency = "parent-interface-exists"

// spec declares a type of links.
type spec struct {
	typ    interfaces.Interface_Type
	former bool // the predecessor has the type
	traits traits
	// field is the field of the oneof link, and required whether it must be there;
	// empty: the type has none.
	field    string
	required bool
	// check reports what is wrong with the fields of the type; nil: nothing can be.
	check func(v *interfaces.Interface) error
	// params returns the parameters with all defaults filled in.
	params func(v *interfaces.Interface) netlinkapi.LinkParams
	// fill is the inverse of params; false if the parameters belong to another type.
	fill func(v *interfaces.Interface, p netlinkapi.LinkParams, parent string) bool
	// parent returns the logical name of the link beneath, empty for none; nil: the
	// type has no parents. Without one there is no link if needsParent.
	parent      func(v *interfaces.Interface) string
	needsParent bool
	// overhead returns how many bytes the parent's MTU exceeds the MTU of the link; nil: the MTU does not depend on the parent.
	overhead func(v *interfaces.Interface) int
	// program returns the program that makes the link if the kernel cannot, empty for none;
	// nil: there is no such program.
	program func(d Deps) string
	// namespaceSysctl is a parameter of the namespace that is 1 while it has links of the type, and then
	// again what it was before; empty: none.
	namespaceSysctl string
	// learned replaces settings that the kernel changes by itself by the desired ones; nil:
	// there are none.
	learned func(v, want *interfaces.Interface)
}

// specs lists the types that are declared.
func specs() []spec {
	return append([]spec{
		dummySpec(), vrfSpec(), bridgeSpec(), bondSpec(), vlanSpec(), macvlanSpec(), ipvlanSpec(), vxlanSpec(), wireGuardSpec(),
		tunTapSpec(interfaces.Interface_TUN), tunTapSpec(interfaces.Interface_TAP),
	}, tunnelSpecs()...)
}

// TypeOf returns the type of the interfaces that a link could be made for from parameters;
// false if there is none.
func TypeOf(link netlinkapi.Link) (interfaces.Interface_Type, bool) {
	for _, s := range specs() {
		if link.Params != nil && s.fill(&interfaces.Interface{}, link.Params, "") {
			return s.typ, true
		}
	}
	return 0, false
}

// declared is a type of links that is made from parameters.
type declared struct {
	made
	spec
}

func (k declared) traits() traits { return k.spec.traits }

func (k declared) check(v *interfaces.Interface) error {
	var errs []error
	link := v.ProtoReflect().WhichOneof(v.ProtoReflect().Descriptor().Oneofs().ByName("link"))
	switch {
	case link != nil && link.Name() != protoreflect.Name(k.field):
		return invalid(string(link.Name()), "not allowed for type %s", k.typ)
	case link == nil && k.required:
		return invalid(k.field, "missing; expected the properties of type %s", k.typ)
	case k.spec.traits.packets && v.GetPhysAddress() != "":
		errs = append(errs, invalid("phys_address", "not allowed for type %s", k.typ))
	}
	if k.parent != nil {
		errs = append(errs, k.checkParent(v))
	}
	if k.spec.check != nil {
		errs = append(errs, k.spec.check(v))
	}
	return errors.Join(errs...)
}

func (k declared) checkParent(v *interfaces.Interface) error {
	field, parent := k.field+".parent_interface", k.parent(v)
	switch {
	case parent == "":
		return nil
	case parent == v.GetName():
		return invalid(field, "%q is the interface itself; expected the one beneath", parent)
	}
	if err := ifmodel.CheckName(parent); err != nil {
		return invalid(field, "%w", err)
	}
	return nil
}

// parentName is the logical name of the parent; empty: none.
func (k declared) parentName(v *interfaces.Interface) string {
	if k.parent == nil {
		return ""
	}
	return k.parent(v)
}

func (k declared) dependencies(v *interfaces.Interface) []api.Dependency {
	if parent := k.parentName(v); parent != "" {
		return []api.Dependency{{Label: parentDependency, Key: ifmodel.InterfaceModel.KeyFor(parent)}}
	}
	return nil
}

func (k declared) sameLink(a, b *interfaces.Interface) bool {
	return k.parentName(a) == k.parentName(b) && netlinkapi.CanChange(k.params(a), k.params(b))
}

// sameSettings compares what applySettings sets.
func (k declared) sameSettings(a, b *interfaces.Interface) bool { return k.params(a) == k.params(b) }

// applySettings changes the parameters that differ.
func (k declared) applySettings(ctx context.Context, p *place, v *interfaces.Interface) error {
	if want := k.params(v); p.link.Params != want {
		return p.ChangeLink(ctx, p.link.Index, want)
	}
	return nil
}

func (k declared) recognise(v *interfaces.Interface, link netlinkapi.Link, parts []string) bool {
	parent := ""
	switch {
	case link.Params == nil, len(parts) > 1, len(parts) == 1 && k.parent == nil, len(parts) == 0 && k.needsParent:
		return false
	case len(parts) == 1:
		parent = parts[0]
	}
	if !k.fill(v, link.Params, parent) {
		v.Link = nil
		return false
	}
	v.Type = k.typ
	return true
}

func (k declared) acquire(ctx context.Context, v *interfaces.Interface) (*place, error) {
	target, err := k.Namespaces.Ensure(ctx, v.GetNamespace())
	if err != nil {
		return nil, err
	}
	if err = k.setNamespaceSysctl(ctx, target, v); err != nil {
		closeHandle(target)
		return nil, err
	}
	link, err := k.add(ctx, v, target)
	if err != nil {
		err = errors.Join(explain(err), k.restoreNamespaceSysctl(context.WithoutCancel(ctx), target, v))
		closeHandle(target)
		return nil, err
	}
	return &place{target, link}, nil
}

// add makes the link in the target.
func (k declared) add(ctx context.Context, v *interfaces.Interface, target netlinkapi.Handle) (netlinkapi.Link, error) {
	name := k.parentName(v)
	if name == "" {
		return k.make(ctx, target, v.GetName(), nil, k.alone(ctx, v))
	}
	parent, err := ifaceidx.Find(ctx, k.Index, k.Namespaces, name)
	if err != nil {
		return netlinkapi.Link{}, err
	}
	defer closeHandle(parent)
	if parent.Namespace() != target.Namespace() {
		if err := k.clearTemporary(ctx, target, v.GetName()); err != nil {
			return netlinkapi.Link{}, err
		}
	}
	link, err := k.make(ctx, parent, v.GetName(), []string{name}, func(h netlinkapi.Handle, temporary string) error {
		return h.AddLink(ctx, temporary, k.params(v), parent.Link.Index)
	})
	if err != nil || parent.Namespace() == target.Namespace() {
		return link, err
	}
	if err := parent.Move(ctx, link.Index, target); err != nil {
		return link, errors.Join(err, ignoreGone(parent.DeleteLink(context.WithoutCancel(ctx), link.Index)))
	}
	return target.LinkByName(ctx, link.Name)
}

// alone returns the function that adds a link without a parent.
func (k declared) alone(ctx context.Context, v *interfaces.Interface) func(h netlinkapi.Handle, temporary string) error {
	return func(h netlinkapi.Handle, temporary string) error {
		err := h.AddLink(ctx, temporary, k.params(v), 0)
		if !errors.Is(err, netlinkapi.ErrUnsupported) || k.program == nil {
			return err
		}
		program := k.program(k.Deps)
		if program == "" {
			return fmt.Errorf("%w, or set wireguard-go in linux-ifplugin.conf", err)
		}
		return h.RunWireGuard(ctx, program, temporary)
	}
}

// explain marks what this kernel cannot do.
func explain(err error) error {
	if errors.Is(err, netlinkapi.ErrUnsupported) || errors.Is(err, netlinkapi.ErrNoProgram) {
		return api.Unimplemented(err)
	}
	return err
}

// parseAddress parses an address that was validated; invalid if it is empty.
func parseAddress(text string) netip.Addr {
	a, _ := netip.ParseAddr(text) // checkAddress
	return a.Unmap()
}

// checkAddress reports what is wrong with an optional address.
func checkAddress(field, text string) error {
	if text == "" {
		return nil
	}
	if a, err := netip.ParseAddr(text); err != nil || a.Zone() != "" || a.IsUnspecified() {
		return invalid(field, "%q; expected an IP address, such as 10.0.0.1", text)
	}
	return nil
}

// addressText is the inverse of parseAddress.
func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// orDefault returns the default for zero.
func orDefault(v, def uint32) uint32 {
	if v == 0 {
		return def
	}
	return v
}

// enumField reports an enum value without a name.
func enumField(field string, n protoreflect.Enum) error {
	if n.Descriptor().Values().ByNumber(n.Number()) == nil {
		return invalid(field, "%d is not known", n.Number())
	}
	return nil
}

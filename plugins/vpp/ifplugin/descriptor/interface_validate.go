package descriptor

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/netalloc"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

const (
	// localName is the interface that every VPP has; its index is 0.
	localName = "local0"
	// maxMTU is the largest MTU that VPP accepts, in bytes.
	maxMTU = 9216
)

func (d *interfaceDescriptor) validate(_ string, i *interfaces.Interface) error {
	return errors.Join(
		validateName(i.GetName()),
		d.validateType(i),
		validateAddresses(i, d.alloc),
		validateHardware(i),
		validateRxPlacements(i),
		validateIP6ND(i),
	)
}

func validateName(name string) error {
	if err := model.CheckName(name); err != nil {
		return invalid("name", "%w", err)
	}
	if name == localName {
		return invalid("name", "%q is an interface of VPP itself", name)
	}
	return nil
}

func (d *interfaceDescriptor) validateType(i *interfaces.Interface) error {
	kind := d.kindOf(i)
	if kind == nil {
		return invalid("type", "%w", unsupportedType(i.GetType()))
	}
	t, link := kind.traits(), linkOf(i)
	switch {
	case link == nil && t.link != nil && !t.linkOptional:
		return invalid("link", "missing, expected %s for type %s", t.link().ProtoReflect().Descriptor().Name(), i.GetType())
	case link != nil && t.link == nil:
		return invalid("link", "is %s, expected none for type %s", link.ProtoReflect().Descriptor().Name(), i.GetType())
	case link != nil && link.ProtoReflect().Descriptor() != t.link().ProtoReflect().Descriptor():
		return invalid("link", "is %s, expected %s for type %s",
			link.ProtoReflect().Descriptor().Name(), t.link().ProtoReflect().Descriptor().Name(), i.GetType())
	}
	return errors.Join(validateMAC(i), kind.check(i))
}

// validateMAC refuses what needs the interface to have a MAC address.
func validateMAC(i *interfaces.Interface) error {
	what, sub := model.WithoutMAC(i), i.GetType() == interfaces.Interface_SUB_INTERFACE
	var errs []error
	if i.GetPhysAddress() != "" && (what != "" || sub) {
		errs = append(errs, invalid("phys_address", "%s has no MAC address of its own", cmp.Or(what, "a sub-interface")))
	}
	if i.GetSetDhcpClient() && what != "" {
		errs = append(errs, invalid("set_dhcp_client", "%s has no MAC address, which a DHCP client needs", what))
	}
	if i.GetIp6Nd().GetAddressAutoconfig() && what != "" {
		errs = append(errs, invalid("ip6_nd.address_autoconfig", "%s has no MAC address, from which addresses are made", what))
	}
	return errors.Join(errs...)
}

// unsupportedType says that interfaces of a type cannot be configured.
func unsupportedType(t interfaces.Interface_Type) error {
	if t == interfaces.Interface_UNDEFINED_TYPE {
		return errors.New("undefined, expected the type of the interface")
	}
	return fmt.Errorf("interfaces of type %s are not supported by this agent", t)
}

func validateAddresses(i *interfaces.Interface, alloc netalloc.Addresses) error {
	var errs []error
	local := ""
	for n, addr := range i.GetIpAddresses() {
		field := fmt.Sprintf("ip_addresses[%d]", n)
		p, err := netallocmodel.ParseAddress(addr)
		switch {
		case netallocmodel.IsRef(addr):
			if err := alloc.Check(addr, i.GetName(), false); err != nil {
				errs = append(errs, invalid(field, "%w", err))
			}
		case err != nil:
			errs = append(errs, invalid(field, "%w", err))
		case !vppcalls.IsLinkLocal(p):
		case local != "" && !ipconv.SamePrefix(local, addr):
			errs = append(errs, invalid(field, "%s: %s is the link-local address already, expected at most one", addr, local))
		default:
			local = addr
		}
	}
	if u := i.GetUnnumbered(); u != nil {
		if u.GetInterfaceWithIp() == i.GetName() {
			errs = append(errs, invalid("unnumbered.interface_with_ip", "is the interface itself"))
		}
		if len(i.GetIpAddresses()) > 0 {
			errs = append(errs, invalid("unnumbered", "an interface that borrows addresses cannot have ip_addresses"))
		}
		if i.GetSetDhcpClient() {
			errs = append(errs, invalid("unnumbered", "an interface that borrows addresses cannot have set_dhcp_client"))
		}
	}
	return errors.Join(errs...)
}

func validateHardware(i *interfaces.Interface) error {
	if mac := i.GetPhysAddress(); mac != "" {
		if _, err := ipconv.ParseMAC(mac); err != nil {
			return invalid("phys_address", "%w", err)
		}
	}
	return nil
}

// validateIP6ND refuses what VPP would ignore.
func validateIP6ND(i *interfaces.Interface) error {
	if nd := i.GetIp6Nd(); nd.GetInstallDefaultRoutes() && !nd.GetAddressAutoconfig() {
		return invalid("ip6_nd.install_default_routes", "expected together with address_autoconfig: VPP learns routes with addresses only")
	}
	return nil
}

package descriptor

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// An interface of Linux is a link in a network namespace. Its addresses and
// its VRF are values of their own, derived from it. What a change of the kernel
// loses on the way (addresses when a link changes its namespace, routes when it
// goes down) is why some changes re-create the value.

const (
	// maxHostName is the longest name of a link, in bytes (IFNAMSIZ - 1).
	maxHostName = 15
	// maxAlias is the longest alias, in bytes (IFALIASZ - 1).
	maxAlias = 255
	// aliasRoom is how much of the alias of a TAP the name given by VPP takes.
	aliasRoom = maxHostName + 1
)

// iface is the descriptor linux-interface.
type iface struct {
	Deps
	owner
	kinds map[interfaces.Interface_Type]linkKind
}

// NewInterface returns the descriptor linux-interface.
func NewInterface(deps Deps) *api.KVDescriptor {
	d := newIface(deps)
	return api.Adapt(api.Describe(ifmodel.InterfaceModel, api.Descriptor[*interfaces.Interface, ifaceidx.LinuxIfMetadata]{
		Name:                 ifaceidx.Descriptor,
		Southbound:           nsmodel.Southbound,
		WithMetadata:         true,
		ValueComparator:      d.equivalent,
		Validate:             d.validate,
		Dependencies:         d.dependencies,
		Identities:           d.identities,
		Vacate:               vacate,
		DerivedValues:        d.derived,
		UpdateWithRecreate:   d.recreate,
		CreateContext:        d.create,
		UpdateContext:        d.update,
		DeleteContext:        d.delete,
		RetrieveContext:      d.retrieve,
		RetrieveValueContext: d.retrieveValue,
		RetrieveDependencies: append([]string{nsmodel.MicroserviceDescriptor}, deps.Allocated.RetrieveDependencies()...),
	}))
}

func newIface(deps Deps) *iface {
	o := owner{label: deps.Label, former: true}
	d := &iface{Deps: deps, owner: o, kinds: map[interfaces.Interface_Type]linkKind{
		interfaces.Interface_VETH:       veth{deps, o},
		interfaces.Interface_TAP_TO_VPP: tap{deps, o},
		interfaces.Interface_LOOPBACK:   loopback{deps, o},
		interfaces.Interface_EXISTING:   existing{deps},
	}}
	for _, s := range specs() {
		d.kinds[s.typ] = declared{made{deps, owner{label: deps.Label, former: s.former}}, s}
	}
	return d
}

// typeNames lists the types that are known.
func (d *iface) typeNames() string {
	var names []string
	for _, t := range slices.Sorted(maps.Keys(d.kinds)) {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}

// host is the name of the link in the kernel.
func (d *iface) host(v *interfaces.Interface) string {
	if k := d.kinds[v.GetType()]; k != nil && k.traits().host != "" {
		return k.traits().host
	}
	return hostName(v)
}

func (d *iface) validate(_ string, v *interfaces.Interface) error {
	k := d.kinds[v.GetType()]
	if k == nil {
		return invalid("type", "%s; expected one of %s", v.GetType(), d.typeNames())
	}
	var errs []error
	if err := ifmodel.CheckName(v.GetName()); err != nil {
		errs = append(errs, invalid("name", "%w", err))
	}
	if err := nsmodel.Validate(v.GetNamespace()); err != nil {
		errs = append(errs, invalid("namespace", "%w", err))
	}
	if err := checkHostName(d.host(v)); err != nil {
		field := "host_if_name"
		if v.GetHostIfName() == "" {
			field, err = "name", fmt.Errorf("%w; host_if_name can give it a shorter one in the kernel", err)
		}
		errs = append(errs, invalid(field, "%w", err))
	}
	below := ""
	if k, ok := k.(declared); ok {
		below = k.parentName(v)
	}
	if n := len(d.alias(v.GetName(), v.GetVeth().GetPeerIfName(), v.GetTap().GetVppTapIfName(), below)) + aliasRoom; n > maxAlias {
		errs = append(errs, invalid("name", "%d bytes together with other names in the alias of the link; expected at most %d", n, maxAlias))
	}
	if mac := v.GetPhysAddress(); mac != "" {
		if hw, err := net.ParseMAC(mac); err != nil || len(hw) != 6 || hw[0]&1 != 0 {
			errs = append(errs, invalid("phys_address", "%q; expected the MAC address of a single host, such as 02:fe:00:00:00:01", mac))
		}
	}
	errs = append(errs, d.checkAddresses(v), checkLifetimes(v), checkSysctls(v), checkOffloads(v), checkVlans(v), checkMaster(v, k.traits()), k.check(v))
	return errors.Join(errs...)
}

func checkMaster(v *interfaces.Interface, t traits) error {
	const field = "master_interface"
	master := v.GetMasterInterface()
	switch {
	case master == "":
		return nil
	case t.packets || t.noPort:
		return invalid(field, "not allowed for type %s, which cannot be a port of a bridge or bond", v.GetType())
	case master == v.GetName():
		return invalid(field, "%q is the interface itself; expected a bridge or bond", master)
	case v.GetVrfMasterInterface() != "":
		return invalid(field, "not allowed together with vrf_master_interface; put the bridge or bond into the VRF")
	}
	if err := ifmodel.CheckName(master); err != nil {
		return invalid(field, "%w", err)
	}
	return nil
}

func checkHostName(host string) error {
	switch {
	case len(host) > maxHostName:
		return fmt.Errorf("%q has %d bytes; expected at most %d in the kernel", host, len(host), maxHostName)
	case host == "." || host == ".." || strings.ContainsAny(host, "/: \t\n\r\v\f"):
		return fmt.Errorf("%q; the name of a link has no slashes, colons or spaces", host)
	}
	return nil
}

func (d *iface) checkAddresses(v *interfaces.Interface) error {
	seen := map[string]bool{}
	for i, text := range v.GetIpAddresses() {
		field := fmt.Sprintf("ip_addresses[%d]", i)
		if netallocmodel.IsRef(text) {
			if err := d.Allocated.Check(text, v.GetName(), false); err != nil {
				return invalid(field, "%w", err)
			}
			if v.GetLinkOnly() {
				return invalid(field, "%q; expected an address, because another process assigns it (link_only)", text)
			}
		} else if _, err := netallocmodel.ParseAddress(text); err != nil {
			return invalid(field, "%w", err)
		}
		key := addressKey(v.GetName(), text)
		if seen[key] {
			return invalid(field, "%q is there twice", text)
		}
		seen[key] = true
	}
	return nil
}

// equivalent compares what the value itself sets; addresses and VRFs are
// values of their own.
func (d *iface) equivalent(_ string, a, b *interfaces.Interface) bool {
	k := d.kinds[b.GetType()]
	if k == nil || a.GetType() != b.GetType() {
		return proto.Equal(a, b)
	}
	if a.GetName() != b.GetName() || d.host(a) != d.host(b) || a.GetEnabled() != b.GetEnabled() ||
		a.GetLinkOnly() != b.GetLinkOnly() || !nsmodel.Equal(a.GetNamespace(), b.GetNamespace()) || !k.sameLink(a, b) {
		return false
	}
	if k, ok := k.(settler); ok && !k.sameSettings(a, b) {
		return false
	}
	return b.GetLinkOnly() || d.sameMTU(a, b, k.traits()) && d.sameMAC(a, b)
}

// sameMTU compares MTUs, where 0 is the default, or what it was before.
func (d *iface) sameMTU(a, b *interfaces.Interface, t traits) bool {
	former, changed := d.Former.ofAnyLink(propertyMTU.of(b.GetName()))
	switch {
	case a.GetMtu() == b.GetMtu():
		return true
	case b.GetMtu() == 0 && changed:
		return int(a.GetMtu()) == former
	case b.GetMtu() == 0 && t.mtu == 0:
		return true
	}
	return cmp.Or(int(a.GetMtu()), t.mtu) == cmp.Or(int(b.GetMtu()), t.mtu)
}

// sameMAC compares MAC addresses, where none is what it was before.
func (d *iface) sameMAC(a, b *interfaces.Interface) bool {
	former, changed := d.Former.ofAnyLink(propertyMAC.of(b.GetName()))
	if b.GetPhysAddress() == "" && changed && a.GetPhysAddress() != "" {
		return sameMAC(a.GetPhysAddress(), macOf(former).String())
	}
	return sameMAC(a.GetPhysAddress(), b.GetPhysAddress())
}

// sameMAC reports whether a link has the MAC address, however it is written, or is to keep its own.
func sameMAC(have, want string) bool {
	if want == "" || have == want {
		return true
	}
	a, errA := net.ParseMAC(have)
	b, errB := net.ParseMAC(want)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

func (d *iface) recreate(_ string, a, b *interfaces.Interface, _ ifaceidx.LinuxIfMetadata) bool {
	k := d.kinds[b.GetType()]
	return k == nil || a.GetType() != b.GetType() || a.GetLinkOnly() != b.GetLinkOnly() ||
		!nsmodel.Equal(a.GetNamespace(), b.GetNamespace()) || !k.sameLink(a, b) ||
		k.traits().adopted && d.host(a) != d.host(b) || k.traits().follows && d.unset(b, k.traits())
}

// unset reports whether a value has lost its MAC address or MTU. The kernel does not forget that they
// were set.
func (d *iface) unset(v *interfaces.Interface, t traits) bool {
	_, mac := d.Former.ofAnyLink(propertyMAC.of(v.GetName()))
	_, mtu := d.Former.ofAnyLink(propertyMTU.of(v.GetName()))
	return !v.GetLinkOnly() && (mac && v.GetPhysAddress() == "" || mtu && v.GetMtu() == 0 && t.mtu == 0)
}

// identities are the name of the link in its namespace. The name of the loopback never changes.
func (d *iface) identities(_ string, v *interfaces.Interface) []string {
	if v.GetType() == interfaces.Interface_LOOPBACK {
		return nil
	}
	return []string{fmt.Sprintf("link/%s/%s", nsmodel.Text(v.GetNamespace()), d.host(v))}
}

// vacate returns the value with a temporary name of the link, while another one takes its name.
func vacate(key string, v *interfaces.Interface) *interfaces.Interface {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	away := proto.CloneOf(v)
	away.HostIfName = fmt.Sprintf("moving%08x", h.Sum32())
	return away
}

func (d *iface) dependencies(_ string, v *interfaces.Interface) []api.Dependency {
	k := d.kinds[v.GetType()]
	if k == nil {
		return nil
	}
	return append(k.dependencies(v), nsmodel.Dependencies(v.GetNamespace())...)
}

func (d *iface) derived(_ string, v *interfaces.Interface) []api.KeyValuePair {
	kvs := []api.KeyValuePair{{Key: ifmodel.StateKeyFor(v.GetName(), v.GetEnabled()), Value: &emptypb.Empty{}}}
	part := &interfaces.Interface{ // what derived values need to know of their base
		Name: v.GetName(), Type: v.GetType(), HostIfName: d.host(v),
		LinkOnly: v.GetLinkOnly(), VrfMasterInterface: v.GetVrfMasterInterface(),
	}
	if vrf := v.GetVrfMasterInterface(); vrf != "" {
		kvs = append(kvs, api.KeyValuePair{Key: ifmodel.VrfKey.Key(v.GetName(), vrf), Value: part})
	}
	if master := v.GetMasterInterface(); master != "" {
		port := &interfaces.Interface{Name: v.GetName(), MasterInterface: master}
		kvs = append(kvs, api.KeyValuePair{Key: ifmodel.PortKey.Key(v.GetName()), Value: port})
	}
	if v.GetBridgeVlans() != nil {
		part := &interfaces.Interface{Name: v.GetName(), Type: v.GetType(), MasterInterface: v.GetMasterInterface(), BridgeVlans: v.GetBridgeVlans()}
		kvs = append(kvs, api.KeyValuePair{Key: ifmodel.BridgeVlansKey.Key(v.GetName()), Value: part})
	}
	for _, s := range parameters(v) {
		one := &interfaces.Interface{Name: v.GetName(), Sysctls: []*interfaces.Sysctl{s}}
		kvs = append(kvs, api.KeyValuePair{Key: ifmodel.SysctlKey.Key(s.GetName(), v.GetName()), Value: one})
	}
	waits := v.GetLinkOnly() && v.GetType() == interfaces.Interface_EXISTING
	if v.GetLinkOnly() && !waits {
		return kvs
	}
	for _, addr := range v.GetIpAddresses() {
		key := addressKey(v.GetName(), addr)
		if waits {
			key = ifmodel.AddressKeyFor(v.GetName(), addr, netalloc.IPAddressSource_EXISTING)
		}
		one := part
		if limited := lifetimesFor(v, addr); limited != nil {
			one = proto.CloneOf(part)
			one.AddressLifetimes = limited
		}
		kvs = append(kvs, api.KeyValuePair{Key: key, Value: one})
	}
	return kvs
}

// addressKey returns the key of an address that the agent assigns, or of a reference to one.
func addressKey(iface, addr string) string {
	source := netalloc.IPAddressSource_STATIC
	if netallocmodel.IsRef(addr) {
		source = netalloc.IPAddressSource_ALLOC_REF
	}
	return ifmodel.AddressKeyFor(iface, addr, source)
}

package allmodels_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"

	linuxifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	linuxl3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	abfmodel "github.com/tenuto-dev/tenuto/plugins/vpp/abfplugin/model"
	aclmodel "github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/model"
	vppifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	ipsecmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ipsecplugin/model"
	l2model "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	vppl3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	natmodel "github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
)

// keyTemplates are the keys of all values that no model has.
func keyTemplates() []models.KeyTemplate {
	return []models.KeyTemplate{
		vppifmodel.UnnumberedKey, vppifmodel.BondedInterfaceKey, vppifmodel.IP6NDKey, vppifmodel.DHCPClientKey,
		vppifmodel.DHCPLeaseKey, vppifmodel.AddressKey, vppifmodel.VrfKey, vppifmodel.InheritedVrfKey,
		vppifmodel.HasAddressKey, vppifmodel.NeighborsKey, vppifmodel.LinkStateKey, vppifmodel.RxModesKey, vppifmodel.RxPlacementKey,
		vppifmodel.StateKey, vppifmodel.ErrorKey,
		l2model.BDInterfaceKey, vppl3model.ProxyARPInterfaceKey, aclmodel.InterfaceKey, abfmodel.InterfaceKey, abfmodel.InterfaceIPv6Key,
		ipsecmodel.SPDInterfaceKey, natmodel.GlobalInterfaceKey, natmodel.GlobalAddressKey, natmodel.TwiceNATPoolKey,
		linuxifmodel.HostInterfaceKey, linuxifmodel.HostAddressKey, linuxifmodel.HostVrfKey, linuxifmodel.StateKey,
		linuxifmodel.AddressKey, linuxifmodel.VrfKey, linuxifmodel.PortKey, linuxifmodel.SysctlKey, linuxifmodel.BridgeVlansKey, linuxl3model.LinkLocalRouteKey, nsmodel.MicroserviceKey,
		netallocmodel.NeighborGwKey,
	}
}

func addNames(f *testing.F) {
	f.Add("if1", "static", "10.0.0.1/24")
	f.Add("GigabitEthernet0/8/0", "a/b", "//")
	f.Add("", "", "")
	f.Add("štěně", "\xff\x00", "<invalid>")
	f.Add("a/address/b", "x/interface/y", "vrf/1")
}

// FuzzKeyTemplates builds keys from arbitrary names and takes them apart: every
// key parses (unless a name has an empty element, which leaves nothing between
// two separators), says the same when it is built again, and keeps the names as
// long as they have no slashes.
func FuzzKeyTemplates(f *testing.F) {
	addNames(f)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for _, k := range keyTemplates() {
			key := k.Key(a, b, c)
			args, ok := k.Parse(key)
			if !ok {
				if !hasEmptyElement(a) && !hasEmptyElement(b) {
					t.Errorf("%s: %q does not parse", k, key)
				}
				continue
			}
			if again := k.Key(args...); again != key {
				t.Errorf("%s: %q became %q", k, key, again)
			}
			if !strings.HasPrefix(key, k.Prefix(a)) {
				t.Errorf("%s: %q does not start with %q", k, key, k.Prefix(a))
			}
			for i, name := range []string{a, b, c}[:len(args)] {
				clear := name != models.InvalidPart && !strings.Contains(a+b+c, "/")
				if clear && args[i] != name {
					t.Errorf("%s: name %d of %q is %q, want %q", k, i, key, args[i], name)
				}
			}
		}
	})
}

func hasEmptyElement(name string) bool {
	return name != "" && strings.Contains("/"+name+"/", "//")
}

// FuzzModelKeys does the same for the keys of models: whatever the name, the
// key leads back to the model and the name.
func FuzzModelKeys(f *testing.F) {
	addNames(f)
	set, err := allmodels.Set()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, _, _ string) {
		for _, m := range set.All() {
			key := m.KeyPrefix()
			if !m.Singleton() {
				key += name
			}
			found, ok := set.ForKey(key)
			if wantOK := m.Singleton() || name != ""; ok != wantOK || ok && found.Spec() != m.Spec() {
				t.Errorf("key %q: found %v, want model %s", key, found, m.Spec().ModelName())
			}
			if m.Matches(key) != ok {
				t.Errorf("key %q: Matches and ForKey disagree", key)
			}
			if !m.Singleton() && m.Label(key) != name {
				t.Errorf("key %q: label %q, want %q", key, m.Label(key), name)
			}
		}
	})
}

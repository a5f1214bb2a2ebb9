package vpptest_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/classifyplugin"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

const vppNone = ^uint32(0)

func indexOf(b *vpptest.Harness, name string) uint32 {
	if m, ok := b.If.Interfaces().LookupByName(name); ok {
		return m.SwIfIndex
	}
	return vppNone
}

// numberOf is indexOf for interfaces and classifier tables.
func numberOf(b *vpptest.Harness, name string) uint32 {
	tables, err := idxmap.Of[*classifyplugin.Table](b.Scheduler.GetMetadataMap(classifyplugin.TableName))
	if err == nil {
		if t, ok := tables.Get(name); ok && t != nil {
			return t.Index
		}
	}
	return indexOf(b, name)
}

func readOne(b *vpptest.Harness, name string) *interfaces.Interface {
	i, _ := b.Dump("vpp-interface")[ifKey(name)].(*interfaces.Interface)
	return i
}

// tagged are the names that VPP gave to the interfaces of a logical name.
func tagged(b *vpptest.Harness, tag string) (names []string) {
	for _, d := range b.AllInterfaces() {
		if d.Tag == tag {
			names = append(names, d.InterfaceName)
		}
	}
	return names
}

// wantLink compares the link that is read back with the expected one.
func wantLink(t *testing.T, b *vpptest.Harness, want *interfaces.Interface) {
	t.Helper()
	got := readOne(b, want.Name)
	link := &interfaces.Interface{Link: got.GetLink()}
	infratest.EqualMessages(t, "link of "+want.Name, link, &interfaces.Interface{Link: want.GetLink()})
}

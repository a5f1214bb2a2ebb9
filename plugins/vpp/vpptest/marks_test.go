package vpptest_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	ifs "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// tagOf returns the name of an item that VPP keeps as a tag; empty if VPP keeps none.
func tagOf(m proto.Message) string {
	switch v := m.(type) {
	case *ifs.Interface:
		return v.GetName()
	case *l2.BridgeDomain:
		return v.GetName()
	case *acl.ACL:
		return v.GetName()
	case *nat.DNat44:
		return v.GetLabel()
	}
	return ""
}

// An object is listed as marked if VPP has a tag of an agent for the object itself, and only then. What
// an agent without a record finds of a pool, a table or a feature of an interface may be of any client,
// even if the interface has a tag, and "orphans --remove --all" must not remove it.
func TestMarkedObjectsHaveATag(t *testing.T) {
	for _, i := range items(t) {
		if i.Without["Retrieve"] != "" {
			continue
		}
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			l := newLife(t, i, vpptest.Simulator(t, simOptions()))
			l.b.Must(l.needed)
			l.b.Must(l.item)
			l.configured()
			l.b.Stop()
			l.start()
			l.b.FullResync(values{})
			for _, o := range l.b.Scheduler.Orphans() {
				if tag := tagOf(o.Value.Message); o.Marked != (tag != "" && tag != "local0") {
					t.Errorf("%s: marked %t: %v", o.Key, o.Marked, o.Value.Message)
				}
			}
			l.b.Stop()
		})
	}
}

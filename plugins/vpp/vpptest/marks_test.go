package vpptest_test

import (
	"fmt"
	"slices"
	"strings"
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

// An object is listed as marked only if VPP has a tag of an agent for it, or for what it is a part of.
// What an agent without a record finds of a pool, a table or a setting may be of any client, and
// "orphans --remove --all" must not remove it.
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
			var tags []string
			for _, all := range []values{l.needed, l.item} {
				for _, m := range all {
					if tag := tagOf(m); tag != "" {
						tags = append(tags, tag)
					}
				}
			}
			l.start()
			l.b.FullResync(values{})
			for _, o := range l.b.Scheduler.Orphans() {
				text := o.Key + " " + fmt.Sprint(o.Value.Message)
				if o.Marked && !slices.ContainsFunc(tags, func(tag string) bool { return strings.Contains(text, tag) }) {
					t.Errorf("%s is marked, but VPP has no tag for it: %v", o.Key, o.Value.Message)
				}
				if !o.Marked && o.Key == l.key && tagOf(i.Make()) != "" {
					t.Errorf("%s is not marked", o.Key)
				}
			}
			l.b.Stop()
		})
	}
}

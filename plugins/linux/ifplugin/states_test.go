package ifplugin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// The states of interfaces in the namespace of the agent are told, as they
// change, on the fake and on the kernel.
func TestStates(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		own := w.Open(t, "")
		a := linuxtest.Start(t, w)
		told := make(chan string, 100)
		cancel := a.Interfaces.States().Watch(func(n *interfaces.InterfaceNotification) {
			s := n.State
			told <- fmt.Sprintf("%v %s %s %v %v/%v %d", n.Type, s.Name, s.InternalName, s.Type, s.AdminStatus, s.OperStatus, s.Mtu)
		})
		await := func(want string) {
			t.Helper()
			var before []string
			late := time.After(20 * time.Second)
			for {
				select {
				case got := <-told:
					if got == want {
						return
					}
					before = append(before, got)
				case <-late:
					t.Fatalf("not told: %s\ntold:\n%s", want, strings.Join(before, "\n"))
				}
			}
		}
		one, two := veth("one", "two", ""), veth("two", "one", "")
		two.Enabled = false
		must(t, a.Apply(one, two))
		await("UPDOWN one h-one VETH UP/DOWN 1500") // its peer is down
		two = veth("two", "one", "")
		two.Mtu = 1400
		must(t, a.Apply(two))
		await("UPDOWN one h-one VETH UP/UP 1500")

		must(t, own.SetUp(expectLink(t, own, "h-one").Index, false)) // by somebody else
		await("UPDOWN one h-one VETH DOWN/DOWN 1500")
		must(t, own.SetUp(expectLink(t, own, "h-one").Index, true))
		await("UPDOWN one h-one VETH UP/UP 1500")
		list := a.Interfaces.States().List()
		if len(list) != 2 || list[0].Name != "one" || list[1].Mtu != 1400 || list[0].LastChange == 0 || list[0].PhysAddress == "" {
			t.Errorf("states %v", list)
		}

		// A disappeared link and one that is not wanted any more are deleted ones.
		must(t, own.DeleteLink(expectLink(t, own, "h-one").Index))
		await("UPDOWN one h-one VETH DELETED/DELETED 1500")
		must(t, a.Resync(one, two))
		await("UPDOWN one h-one VETH UP/UP 1500")
		must(t, a.Delete(one, two))
		await("UPDOWN two h-two VETH DELETED/DELETED 1400")
		a.Quiet("nothing is left", func() bool { return len(a.Interfaces.States().List()) == 0 })

		// One in another namespace is not followed; and nobody is told after the end.
		inside := veth("inside", "one", "ns1")
		one = veth("one", "inside", "")
		w.Make(t, "ns1")
		must(t, a.Apply(inside, one))
		await("UPDOWN one h-one VETH UP/UP 1500")
		if names := a.Interfaces.States().List(); slices.ContainsFunc(names, func(s *interfaces.InterfaceState) bool { return s.Name == "inside" }) {
			t.Errorf("states %v", names)
		}
		cancel()
		for len(told) > 0 {
			<-told
		}
		must(t, a.Delete(one))
		a.Quiet("nothing is left", func() bool { return len(a.Interfaces.States().List()) == 0 })
		if len(told) > 0 {
			t.Errorf("told after the end: %s", <-told)
		}
	})
}

package ifplugin_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// ends are the first ends of pairs, with the names of their links; their peers are elsewhere.
func ends(hosts ...string) (list []proto.Message) {
	for i, host := range hosts {
		name := string(rune('a' + i))
		end := veth(name, name+"-peer", "", "10.1."+string(rune('1'+i))+".1/24")
		end.HostIfName = host
		list = append(list, end, veth(name+"-peer", name, "right"))
	}
	return list
}

// Links exchange their names, or pass them on, in one transaction, and remain what they are.
func TestExchangedNames(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to []string
	}{
		{"two", []string{"swx", "swy"}, []string{"swy", "swx"}},
		{"three", []string{"swx", "swy", "swz"}, []string{"swy", "swz", "swx"}},
		{"chain", []string{"swx", "swy"}, []string{"swy", "swz"}},
		{"reverse chain", []string{"swx", "swy"}, []string{"swz", "swx"}},
		{"two pairs", []string{"swa", "swb", "swc", "swd"}, []string{"swb", "swa", "swd", "swc"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			nltest.Run(t, func(t *testing.T, w *nltest.World) {
				a := linuxtest.Start(t, w)
				must(t, a.Apply(ends(c.from...)...))
				own := w.Open(t, "")
				index := map[string]int{}
				for _, host := range c.from {
					index[host] = expectLink(t, own, host).Index
				}
				all := ends(c.to...)
				must(t, a.Apply(all...))
				a.Expect(configured, all...)
				expectLinks(t, own, slices.Clone(c.to)...)
				for i, host := range c.to {
					if l := expectLink(t, own, host); l.Index != index[c.from[i]] {
						t.Errorf("%s was created again", host)
					}
					if addr := all[2*i].(*interfaces.Interface).IpAddresses[0]; !hasAddress(t, own, host, addr) {
						t.Errorf("%s lacks %s", host, addr)
					}
				}
				unchanged(t, a, all...)
			})
		})
	}
}

// A link whose item gets another name, too, is deleted before it is created.
func TestRenamedItem(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		a := linuxtest.Start(t, w)
		pair := func(name string) []proto.Message {
			end := veth(name, "peer", "", "10.1.1.1/24")
			end.HostIfName = "swx"
			return []proto.Message{end, veth("peer", name, "right")}
		}
		must(t, a.Apply(pair("x")...))
		for _, names := range [][2]string{{"x", "a"}, {"a", "z"}} {
			txn := a.StartNBTransaction()
			txn.SetValue(linuxtest.Key(t, pair(names[0])[0]), nil)
			for _, v := range pair(names[1]) {
				txn.SetValue(linuxtest.Key(t, v), v)
			}
			_, err := txn.Commit(t.Context())
			must(t, err)
			a.Expect(configured, pair(names[1])...)
		}
		expectLinks(t, w.Open(t, ""), "swx")
	})
}

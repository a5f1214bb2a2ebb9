package vpptest_test

import (
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// kind is the life of one type of interface, which is the same for all.
type kind struct {
	make func() *interfaces.Interface
	// needs is what must exist before.
	needs func() values
	// relink changes the link so that the interface must be created again.
	relink func(*interfaces.Interface)
	// byHand is the request by which another process deletes it, and its reply.
	byHand func(idx uint32, i *interfaces.Interface) (req, reply api.Message)
	// real: a real VPP can have it on any machine.
	real bool
}

// run lives the life of an interface.
func (k kind) run(t *testing.T) {
	life := func(t *testing.T, target vpptest.Target) { k.live(t, target) }
	if k.real {
		vpptest.OnBoth(t, life)
		return
	}
	t.Parallel()
	life(t, vpptest.Simulator(t, simOptions()))
}

func (k kind) all(i *interfaces.Interface) values {
	out := of(i)
	if k.needs != nil {
		for key, v := range k.needs() {
			out[key] = v
		}
	}
	return out
}

func (k kind) live(t *testing.T, target vpptest.Target) {
	b := vpptest.Start(t, target)
	i := k.make()
	settled := func(b *vpptest.Harness, what string, i *interfaces.Interface) {
		t.Helper()
		allConfigured(t, b, of(i))
		if got, want := readOne(b, i.Name), filled(b, i); !proto.Equal(got, want) {
			t.Errorf("%s: read back\n%v\nexpected\n%v", what, got, want)
		}
		b.InSync()
	}
	if k.needs != nil {
		b.Must(of(i))
		b.Want(states{ifKey(i.Name): pending})
	}
	b.Must(k.all(i))
	settled(b, "created", i)

	changed := proto.CloneOf(i)
	changed.Enabled, changed.Mtu = !i.Enabled, 1400
	b.Must(of(changed))
	settled(b, "changed", changed)
	before := indexOf(b, i.Name)
	changed = proto.CloneOf(changed)
	k.relink(changed)
	b.Must(of(changed))
	settled(b, "with another link", changed)
	b.Must(of(i))
	settled(b, "as at first", i)
	if before == vppNone {
		t.Error("no metadata")
	}

	// An agent that comes later finds everything as it is.
	b.Stop()
	b = vpptest.Start(t, target)
	if ops := b.FullResync(k.all(i)); len(ops) > 0 {
		t.Errorf("another agent had to\n\t%s", strings.Join(ops, "\n\t"))
	}
	settled(b, "found again", i)

	// Another client deletes it: VPP reports that, and a resync creates it again.
	req, reply := k.byHand(indexOf(b, i.Name), i)
	if err := b.Mux.Conn().Call(t.Context(), req, reply); err != nil {
		t.Fatal(err)
	}
	b.Await(ifKey(i.Name), missing)
	b.Resync()
	settled(b, "created again", i)
	b.Must(deleted(of(i)))
	if got := readOne(b, i.Name); got != nil {
		t.Errorf("deleted, but read back %v", got)
	}
	if names := tagged(b, i.Name); len(names) > 0 {
		t.Errorf("deleted, but VPP has %q", names)
	}
}

// everyLink is one interface of each type that is made in VPP alone.
func everyLink() values {
	return of(memif("memif1", 1, "x.sock"), subif("port.100", "port", 100),
		bond("bond1", 1, "member"), loop("member"),
		vxlan("vxlan1", "192.0.2.1", "192.0.2.2", 1), vxlanGpe("gpe1", "192.0.2.1", "192.0.2.2", 1),
		gre("gre1", "192.0.2.1", "192.0.2.2", interfaces.GreLink_L3), ipip("ipip1", "192.0.2.1", "192.0.2.2"),
		gtpu("gtpu1", "192.0.2.1", "192.0.2.2", 1), ipsecInterface("ipsec1"), wireguard("wg1"), vmxnet3("vmxnet3-0/b/0/0"))
}

const vppNone = ^uint32(0)

func indexOf(b *vpptest.Harness, name string) uint32 {
	if m, ok := b.If.Interfaces().LookupByName(name); ok {
		return m.SwIfIndex
	}
	return vppNone
}

func readOne(b *vpptest.Harness, name string) *interfaces.Interface {
	i, _ := b.Dump("vpp-interface")[ifKey(name)].(*interfaces.Interface)
	return i
}

// filled fills in what VPP chose where nothing was asked for, and the link as
// it is read if the two are equivalent in the eyes of the scheduler, for which
// InSync is the check.
func filled(b *vpptest.Harness, i *interfaces.Interface) *interfaces.Interface {
	out, got := proto.CloneOf(i), readOne(b, i.Name)
	if got == nil {
		return out
	}
	if out.PhysAddress == "" {
		out.PhysAddress = got.PhysAddress
	}
	if out.Mtu == 0 {
		out.Mtu = got.Mtu
	}
	out.Link = got.Link
	return out
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
	if expected := (&interfaces.Interface{Link: want.GetLink()}); !proto.Equal(link, expected) {
		t.Errorf("link of %s is %v, expected %v", want.Name, link, expected)
	}
}

// wantInvalid expects that a change makes an interface invalid, with an error
// that names the field.
func wantInvalid(t *testing.T, b *vpptest.Harness, base *interfaces.Interface, cases map[string]func(*interfaces.Interface)) {
	t.Helper()
	for want, change := range cases {
		i := proto.CloneOf(base)
		change(i)
		err := b.Commit(of(i))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
		b.Want(states{ifKey(i.Name): invalid})
		b.Must(deleted(of(i)))
	}
}

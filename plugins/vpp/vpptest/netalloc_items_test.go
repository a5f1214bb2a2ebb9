package vpptest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	"github.com/tenuto-dev/tenuto/proto/ligato"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// The addresses of every item may be references: it waits for each of them, reads back as it is
// written, and another agent finds it.
func TestItemsWithAllocatedAddresses(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, i := range items(t) {
		referring, refers := allocated(i)
		if !refers {
			continue
		}
		tried++
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			newLife(t, referring, vpptest.Simulator(t, simOptions())).live()
		})
	}
	if tried < 15 && *oneItem == "" {
		t.Errorf("%d items have addresses", tried)
	}
}

// The field may not accept the allocated address.
func TestUnsuitableAllocation(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	pool := of(&nat.Nat44AddressPool{Name: "p", FirstIp: "alloc:net6/x"}, &nat.Nat44Global{})
	b.Must(pool)
	err := b.Commit(of(allocation("net6", "x", "2001:db8::1/64", "")))
	if want := `first_ip: "2001:db8::1", expected an IPv4 address`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, expected %q", err, want)
	}
	b.Must(of(allocation("net6", "x", "10.6.0.1/24", "")))
	b.Resync()
	b.InSync()
}

// allocated returns an item whose addresses are allocated ones, which it needs as well; false if
// it has none.
func allocated(i catalogue.Item) (catalogue.Item, bool) {
	var all []proto.Message
	m := i.Make()
	refer(m.ProtoReflect(), func(address string) string {
		name := fmt.Sprint("net", len(all))
		all = append(all, allocation(name, "x", address, ""))
		return "alloc:" + name + "/x"
	})
	needs := i.Needs
	i.Make = func() proto.Message { return proto.Clone(m) }
	i.Needs = func() []proto.Message {
		if needs != nil {
			return append(needs(), all...)
		}
		return all
	}
	i.Spellings, i.Updates, i.Recreates, i.ByHand = nil, nil, nil, nil
	return i, len(all) > 0 && i.Part == ""
}

// notReferring are the addresses of an interface, which are values of their own, and the
// address of a policy, which is the name of another item and must be written as it is there.
var notReferring = []protoreflect.FullName{"ligato.vpp.interfaces.Interface.ip_addresses", "ligato.vpp.srv6.Steering.policy_bsid"}

// refer replaces the addresses in a message.
func refer(m protoreflect.Message, to func(address string) string) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		opts, _ := proto.GetExtension(f.Options(), ligato.E_LigatoOptions).(*ligato.LigatoOptions)
		address := f.Kind() == protoreflect.StringKind && opts.GetType() != ligato.LigatoOptions_UNSPECIFIED && !slices.Contains(notReferring, f.FullName())
		switch {
		case address && f.IsList():
			for n := range v.List().Len() {
				v.List().Set(n, protoreflect.ValueOfString(to(v.List().Get(n).String())))
			}
		case address:
			m.Set(f, protoreflect.ValueOfString(to(v.String())))
		case f.Message() != nil && f.IsList():
			for n := range v.List().Len() {
				refer(v.List().Get(n).Message(), to)
			}
		case f.Message() != nil && !f.IsMap():
			refer(v.Message(), to)
		}
		return true
	})
}

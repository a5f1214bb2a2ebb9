package models

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/proto/ligato"
)

// IsAddress reports whether a field is for an IP address, a network or a MAC address. A field
// for MAC addresses has no annotation, so its name counts.
func IsAddress(f protoreflect.FieldDescriptor) bool {
	if f.Kind() != protoreflect.StringKind {
		return false
	}
	name := string(f.Name())
	return addressType(f) != ligato.LigatoOptions_UNSPECIFIED ||
		strings.HasSuffix(name, "phys_address") || strings.HasSuffix(name, "hw_address") || strings.Contains(name, "mac_address")
}

func addressType(f protoreflect.FieldDescriptor) ligato.LigatoOptions_Type {
	opts, _ := proto.GetExtension(f.Options(), ligato.E_LigatoOptions).(*ligato.LigatoOptions)
	return opts.GetType()
}

// canonicalText returns the text of an address in the form in which Go prints it. Texts that are no
// addresses are returned unchanged.
func canonicalText(f protoreflect.FieldDescriptor, text string) string {
	withLength := strings.HasSuffix(addressType(f).String(), "_MASK")
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap()
		if withLength {
			return netip.PrefixFrom(a, a.BitLen()).String()
		}
		return a.String()
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		if withLength {
			return p.Masked().String()
		}
		return p.Addr().Unmap().String() // the length has no meaning
	}
	if mac, err := net.ParseMAC(text); err == nil {
		return mac.String()
	}
	return text
}

// CanonicalKey returns the key that the item would have if the addresses in its name were written
// as Go prints them; empty if they are. Two items with one canonical key are the same item in two
// spellings.
func (m Model[V]) CanonicalKey(v V) string {
	var canonical protoreflect.Message
	for _, f := range m.get().addresses {
		text := v.ProtoReflect().Get(f).String()
		if other := canonicalText(f, text); other != text {
			if canonical == nil {
				canonical = proto.Clone(v).ProtoReflect()
			}
			canonical.Set(f, protoreflect.ValueOfString(other))
		}
	}
	if canonical == nil {
		return ""
	}
	if key := m.Key(canonical.Interface().(V)); key != m.Key(v) { // the name may be without an optional address
		return key
	}
	return ""
}

// HasSpellings reports whether the names of items contain addresses, which can be written in several ways.
func (m Model[V]) HasSpellings() bool { return len(m.get().addresses) > 0 }

// addressesIn returns the fields of a name that are addresses.
func addressesIn(name *Name) []protoreflect.FieldDescriptor {
	if name == nil {
		return nil
	}
	return slices.DeleteFunc(name.Fields(), func(f protoreflect.FieldDescriptor) bool { return !IsAddress(f) })
}

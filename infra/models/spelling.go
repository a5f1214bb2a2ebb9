package models

import (
	"net"
	"net/netip"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// IsAddress reports whether a field is for an IP address, a network or a MAC address. A field
// for MAC addresses has no annotation, so its name counts.
func IsAddress(f protoreflect.FieldDescriptor) bool {
	if f.Kind() != protoreflect.StringKind {
		return false
	}
	name := string(f.Name())
	return Annotation(f).Form != nil ||
		strings.HasSuffix(name, "phys_address") || strings.HasSuffix(name, "hw_address") || strings.Contains(name, "mac_address")
}

// address is a field of a name that is an address.
type address struct {
	field      protoreflect.FieldDescriptor
	withLength bool // a network, or an address with prefix length
	mac        bool
}

// canonical returns the text of an address in the form in which Go prints it, and whether it is
// another one. It allocates no memory for a text in that form.
func (a address) canonical(text string) (canonical string, other bool) {
	var buf [64]byte
	out := a.append(buf[:0], text)
	if len(out) == 0 || string(out) == text {
		return text, false
	}
	return string(out), true
}

// append appends the canonical text; nothing if the text is no address.
func (a address) append(out []byte, text string) []byte {
	switch {
	case a.mac:
		if mac, err := net.ParseMAC(text); err == nil {
			return append(out, mac.String()...)
		}
	case strings.Contains(text, "/"):
		p, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
		case a.withLength:
			return p.Masked().AppendTo(out)
		default:
			return p.Addr().Unmap().AppendTo(out) // the length has no meaning
		}
	case text != "":
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return out
		}
		if ip = ip.Unmap(); a.withLength {
			return netip.PrefixFrom(ip, ip.BitLen()).AppendTo(out)
		}
		return ip.AppendTo(out)
	}
	return out
}

// CanonicalKey returns the key that the item would have if the addresses in its name were written
// as Go prints them; empty if they are. Two items with one canonical key are the same item in two
// spellings.
func (m Model[V]) CanonicalKey(v V) string {
	var canonical protoreflect.Message
	for _, a := range m.get().addresses {
		if text, other := a.canonical(v.ProtoReflect().Get(a.field).String()); other {
			if canonical == nil {
				canonical = proto.Clone(v).ProtoReflect()
			}
			canonical.Set(a.field, protoreflect.ValueOfString(text))
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
func addressesIn(name *Name) (all []address) {
	if name == nil {
		return nil
	}
	for _, f := range name.Fields() {
		if form := Annotation(f).Form; IsAddress(f) {
			all = append(all, address{f, form != nil && form.WithLength, form == nil})
		}
	}
	return all
}

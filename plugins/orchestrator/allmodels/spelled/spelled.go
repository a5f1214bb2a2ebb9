// Package spelled writes the addresses in the values of models in other ways. Test suites of the
// VPP and Linux plugins use it.
package spelled

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/models"
)

// Spelling is a value with one of its addresses written in another way.
type Spelling struct {
	// Field is the path of the field, such as rules[0].ip_rule.ip.source_network.
	Field string
	// Name is the full name of the field.
	Name protoreflect.FullName
	// Text is the other text of the field.
	Text string
	// Value is a copy of the value with the text.
	Value proto.Message
	Form
}

// Form is the required form of a text.
type Form int

const (
	// Same is the same address. Each field must accept it.
	Same Form = iota
	// Similar is an address with or without the prefix length, or with host bits. A field accepts
	// it, or its error names the field.
	Similar
	// Wrong is no address. Each field refuses it with an error that names the field.
	Wrong
)

// Of returns the spellings of each address, network and MAC address in a value, in the fields for them.
func Of(m proto.Message) (all []Spelling) {
	each(m.ProtoReflect(), "", func(path string, f protoreflect.FieldDescriptor, text string, set func(text string)) {
		if !models.IsAddress(f) {
			return
		}
		for _, form := range []Form{Same, Similar, Wrong} {
			for _, other := range textsOf(text)[form] {
				if other == text {
					continue
				}
				set(other)
				all = append(all, Spelling{Field: path, Name: f.FullName(), Text: other, Value: proto.Clone(m), Form: form})
			}
		}
		set(text)
	})
	return all
}

// textsOf returns the other texts of an address; none if text is no address.
func textsOf(text string) map[Form][]string {
	wrong := []string{" " + text, text + " "}
	if mac, err := net.ParseMAC(text); err == nil {
		upper, digits := strings.ToUpper(mac.String()), fmt.Sprintf("%x", []byte(mac))
		dots := digits[:4] + "." + digits[4:8] + "." + digits[8:]
		return map[Form][]string{
			Same:  {upper, mac.String(), upper[:9] + mac.String()[9:], strings.ReplaceAll(upper, ":", "-"), dots},
			Wrong: wrong,
		}
	}
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		host := netip.PrefixFrom(a, a.BitLen())
		return map[Form][]string{Same: addressTexts(a), Similar: {host.String()}, Wrong: append(wrong, text+"/129")}
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return nil
	}
	out := map[Form][]string{Similar: {p.Addr().String()}, Wrong: append(wrong, p.Addr().String()+"/129")}
	length := fmt.Sprintf("/%d", p.Bits())
	if p.Addr().Is6() {
		for _, a := range addressTexts(p.Addr()) {
			out[Same] = append(out[Same], a+length)
		}
	} else {
		out[Similar] = append(out[Similar], fmt.Sprintf("::ffff:%s/%d", p.Addr(), p.Bits()+96))
	}
	if last := lastOf(p); last != p.Addr() {
		out[Similar] = append(out[Similar], last.String()+length)
	}
	return out
}

// addressTexts returns texts of the same address.
func addressTexts(a netip.Addr) []string {
	if a.Is4() {
		return []string{"::ffff:" + a.String(), fmt.Sprintf("::FFFF:%x%02x:%x%02x", a.As4()[0], a.As4()[1], a.As4()[2], a.As4()[3])}
	}
	return []string{strings.ToUpper(a.String()), a.StringExpanded(), strings.ToUpper(a.StringExpanded())}
}

// lastOf returns the address with all host bits set.
func lastOf(p netip.Prefix) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < p.Addr().BitLen(); bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes) // of as many bytes
	return last
}

// each calls visit for each text in a message. set replaces the text.
func each(m protoreflect.Message, prefix string, visit func(path string, f protoreflect.FieldDescriptor, text string, set func(text string))) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		path, list := prefix+string(f.Name()), v
		switch {
		case f.IsMap():
		case f.IsList() && (f.Message() != nil || f.Kind() == protoreflect.StringKind):
			for n := range list.List().Len() {
				at, one := fmt.Sprintf("%s[%d]", path, n), list.List().Get(n)
				if f.Message() != nil {
					each(one.Message(), at+".", visit)
				} else {
					visit(at, f, one.String(), func(text string) { list.List().Set(n, protoreflect.ValueOfString(text)) })
				}
			}
		case f.IsList():
		case f.Message() != nil:
			each(v.Message(), path+".", visit)
		case f.Kind() == protoreflect.StringKind:
			visit(path, f, v.String(), func(text string) { m.Set(f, protoreflect.ValueOfString(text)) })
		}
		return true
	})
}

// Fields returns the names of the fields for addresses in a message, at any depth.
func Fields(d protoreflect.MessageDescriptor) (all []protoreflect.FullName) {
	return fields(d, map[protoreflect.FullName]bool{})
}

func fields(d protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) (all []protoreflect.FullName) {
	if seen[d.FullName()] {
		return nil
	}
	seen[d.FullName()] = true
	for i := range d.Fields().Len() {
		switch f := d.Fields().Get(i); {
		case models.IsAddress(f):
			all = append(all, f.FullName())
		case f.Message() != nil && !f.IsMap():
			all = append(all, fields(f.Message(), seen)...)
		}
	}
	return all
}

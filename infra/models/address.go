package models

import (
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/proto/ligato"
)

// AddressForm is a textual form of addresses, a type of ligato_options.
type AddressForm struct {
	// Plain and WithLength report whether addresses may be without and with a prefix length.
	Plain, WithLength bool
	// IPv4 and IPv6 report that all addresses are of this version of IP.
	IPv4, IPv6 bool

	expected string // follows the text that is none
}

var forms = map[ligato.LigatoOptions_Type]*AddressForm{
	ligato.LigatoOptions_IP:                 {Plain: true, expected: ": expected an IP address"},
	ligato.LigatoOptions_IPV4:               {Plain: true, IPv4: true, expected: ", expected an IPv4 address"},
	ligato.LigatoOptions_IPV6:               {Plain: true, IPv6: true, expected: ", expected an IPv6 address"},
	ligato.LigatoOptions_IP_WITH_MASK:       {WithLength: true, expected: ": expected an IP address with prefix length"},
	ligato.LigatoOptions_IPV4_WITH_MASK:     {WithLength: true, IPv4: true, expected: ", expected an IPv4 address with prefix length"},
	ligato.LigatoOptions_IPV6_WITH_MASK:     {WithLength: true, IPv6: true, expected: ", expected an IPv6 address with prefix length"},
	ligato.LigatoOptions_IP_OPTIONAL_MASK:   {Plain: true, WithLength: true, expected: ": expected an IP address, with or without prefix length"},
	ligato.LigatoOptions_IPV4_OPTIONAL_MASK: {Plain: true, WithLength: true, IPv4: true, expected: ", expected an IPv4 address, with or without prefix length"},
	ligato.LigatoOptions_IPV6_OPTIONAL_MASK: {Plain: true, WithLength: true, IPv6: true, expected: ", expected an IPv6 address, with or without prefix length"},
}

// accepts reports whether a text has the form. An IPv4 address that is mapped into IPv6 is one of IPv4.
func (f *AddressForm) accepts(text string) bool {
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		return err == nil && f.WithLength && f.hasVersion(p.Addr())
	}
	a, err := netip.ParseAddr(text)
	return err == nil && a.Zone() == "" && f.Plain && f.hasVersion(a)
}

func (f *AddressForm) hasVersion(a netip.Addr) bool {
	ipv4 := a.Unmap().Is4()
	return (!f.IPv4 || ipv4) && (!f.IPv6 || !ipv4)
}

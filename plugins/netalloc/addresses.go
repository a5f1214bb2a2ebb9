package netalloc

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/netalloc/model"
)

// Allocation is the metadata of an allocated address. It is never changed.
type Allocation struct {
	// Address with the prefix length of the network.
	Address netip.Prefix
	// Gateway of the network; the zero value if it has none.
	Gateway netip.Addr
}

// Addresses are the addresses that are allocated. The zero value has none. Its methods may be
// called concurrently.
type Addresses struct {
	m idxmap.Map[*Allocation]
	// known: there is a plugin that allocates addresses.
	known bool
}

// newAddresses makes the view of the metadata map of the descriptor.
func newAddresses(r idxmap.Reader) (Addresses, error) {
	m, err := idxmap.Of[*Allocation](r)
	return Addresses{m, err == nil}, err
}

// Available reports that references can be used at all.
func (a Addresses) Available() bool { return a.known }

// RetrieveDependencies returns the descriptors that must be retrieved before one that uses the
// addresses.
func (a Addresses) RetrieveDependencies() []string {
	if !a.known {
		return nil
	}
	return []string{DescriptorName}
}

// Check returns an error for a reference that cannot be used, or names a gateway where that is
// not allowed.
func (a Addresses) Check(text, iface string, gateway bool) error {
	if !a.known {
		return fmt.Errorf("%q: this agent allocates no addresses", text)
	}
	r, err := model.ParseRef(text, iface)
	if err == nil && r.Gateway && !gateway {
		err = fmt.Errorf("%q: refers to a gateway, expected an address", text)
	}
	return err
}

// Lookup returns the address that a reference means, with the prefix length of its network;
// iface is the interface that it is about if it names none. It is false for a text that is no
// reference, and if there is no such allocation, or gateway.
func (a Addresses) Lookup(text, iface string) (netip.Prefix, bool) {
	if !a.known || !model.IsRef(text) {
		return netip.Prefix{}, false
	}
	r, err := model.ParseRef(text, iface)
	if err != nil {
		return netip.Prefix{}, false
	}
	found, ok := a.m.Get("network/" + r.Network + "/interface/" + r.Interface)
	switch {
	case !ok || found == nil:
		return netip.Prefix{}, false
	case r.Gateway:
		return netip.PrefixFrom(found.Gateway, found.Address.Bits()), found.Gateway.IsValid()
	}
	return found.Address, true
}

// Literal returns the address with prefix length that text means: the allocated address if it
// is a reference to an allocation, otherwise the text itself.
func (a Addresses) Literal(text, iface string) string {
	if p, ok := a.Lookup(text, iface); ok {
		return p.String()
	}
	return text
}

// Literals is Literal for a list.
func (a Addresses) Literals(texts []string, iface string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = a.Literal(text, iface)
	}
	return out
}

// References returns the texts by which an interface may refer to an address that it has.
func (a Addresses) References(p netip.Prefix, iface string) (texts []string) {
	return a.references(iface, func(address netip.Prefix) bool { return address == p })
}

// NetworkReferences returns the texts by which an interface may refer to an address of a network.
func (a Addresses) NetworkReferences(network netip.Prefix, iface string) (texts []string) {
	return a.references(iface, func(address netip.Prefix) bool { return address.Masked() == network })
}

func (a Addresses) references(iface string, is func(address netip.Prefix) bool) (texts []string) {
	if !a.known {
		return nil
	}
	for name, found := range a.m.All() {
		if found == nil || !is(found.Address) {
			continue
		}
		network, of, _ := strings.Cut(strings.TrimPrefix(name, "network/"), "/interface/")
		texts = append(texts, model.RefPrefix+network+"/"+of)
		if of == iface {
			texts = append(texts, model.RefPrefix+network)
		}
	}
	return texts
}

// Restore replaces an address that was read by the reference of the configuration that means
// it, if wanted has one.
func (a Addresses) Restore(read string, wanted []string, iface string) string {
	for _, text := range wanted {
		if p, ok := a.Lookup(text, iface); ok && p.String() == read {
			return text
		}
	}
	return read
}

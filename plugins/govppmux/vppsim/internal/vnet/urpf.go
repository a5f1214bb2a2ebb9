package vnet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	urpfapi "go.fd.io/govpp/binapi/urpf"
)

// urpfID is what a check of source addresses is about.
type urpfID struct {
	index  uint32
	f      family
	output bool
}

// urpfCheck is a check; custom says that it has a table of its own.
type urpfCheck struct {
	mode   urpfapi.UrpfMode
	table  uint32
	custom bool
}

// urpfs are the checks of the plugin urpf (src/plugins/urpf/urpf.c). It keeps
// the checks of deleted interfaces, and does nothing for a check that it has.
type urpfs struct {
	*VNet
	checks map[urpfID]urpfCheck
}

func newUrpfs(n *VNet) feature { return &urpfs{VNet: n} }

func (u *urpfs) register(server *wire.Server) {
	handle[urpfapi.UrpfUpdateReply](server, func(req *urpfapi.UrpfUpdate) retval {
		table := uint32(0)
		if u.before("23.02") {
			table = none
		}
		return u.update(req.SwIfIndex, req.Af, !req.IsInput, req.Mode, table)
	})
	handle[urpfapi.UrpfUpdateV2Reply](server, func(req *urpfapi.UrpfUpdateV2) retval {
		return u.update(req.SwIfIndex, req.Af, !req.IsInput, req.Mode, req.TableID)
	})
	wire.HandleDump(server, func(c *wire.Call, req *urpfapi.UrpfInterfaceDump) {
		for _, id := range u.sorted() {
			if has := u.checks[id]; selects(req.SwIfIndex, id.index) && u.inUse(id.index) && (has.mode != urpfapi.URPF_API_MODE_OFF || has.custom) {
				c.Send(&urpfapi.UrpfInterfaceDetails{
					SwIfIndex: ifIndex(id.index), IsInput: !id.output, Mode: has.mode, Af: ip_types.AddressFamily(id.f), TableID: has.table,
				})
			}
		}
	})
}

func (u *urpfs) reset() { u.checks = make(map[urpfID]urpfCheck) }

// sorted is the order of the dump: by interface, version of IP and direction.
func (u *urpfs) sorted() []urpfID {
	return slices.SortedFunc(maps.Keys(u.checks), func(a, b urpfID) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.f, b.f), strings.Compare(u.node(a, 0), u.node(b, 0)))
	})
}

func (u *urpfs) update(index ifIndex, af ip_types.AddressFamily, output bool, mode urpfapi.UrpfMode, table uint32) retval {
	i := u.byIndex(index)
	switch {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case mode > urpfapi.URPF_API_MODE_STRICT:
		return api.INVALID_VALUE
	case af > ip_types.ADDRESS_IP6:
		return api.INVALID_ADDRESS_FAMILY
	}
	id := urpfID{i.index, family(af), output}
	check := urpfCheck{mode, i.table[id.f], table != none}
	if check.custom {
		if u.fibs.Table(id.f, table) == nil {
			return api.INVALID_VALUE
		}
		check.table = table
	}
	if has := u.checks[id]; has.mode != mode || has.table != check.table {
		u.enable(id, has.mode, false)
		u.enable(id, mode, true)
	}
	u.checks[id] = check
	return ok
}

func (u *urpfs) enable(id urpfID, mode urpfapi.UrpfMode, on bool) {
	if mode == urpfapi.URPF_API_MODE_OFF {
		return
	}
	arc := "unicast"
	if id.output {
		arc = "output"
	}
	u.arcs.set(id.index, arcFeature{fmt.Sprintf("ip%d-%s", ipVersion(id.f), arc), u.node(id, mode)}, on)
}

func (u *urpfs) node(id urpfID, mode urpfapi.UrpfMode) string {
	direction, kind := "rx", "loose"
	if id.output {
		direction = "tx"
	}
	if mode == urpfapi.URPF_API_MODE_STRICT {
		kind = "strict"
	}
	return fmt.Sprintf("ip%d-%s-urpf-%s", ipVersion(id.f), direction, kind)
}

func ipVersion(f family) int {
	if f == ip6 {
		return 6
	}
	return 4
}

// interfaceRebind has checks without a table of their own follow the interface.
func (u *urpfs) interfaceRebind(i *swInterface, f family, table uint32) {
	for id, has := range u.checks {
		if id.index == i.index && id.f == f && !has.custom {
			has.table = table
			u.checks[id] = has
		}
	}
}

func (u *urpfs) dump(b *strings.Builder) {
	var lines []string
	for id, has := range u.checks {
		if has.mode != urpfapi.URPF_API_MODE_OFF || has.custom {
			lines = append(lines, fmt.Sprintf("urpf %s in %d on %s\n", u.node(id, has.mode), has.table, u.orStaleIf(id.index)))
		}
	}
	dumpSorted(b, lines)
}

package descriptor

import (
	"errors"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A BOND makes one link of several, its ports. It gives them its MTU and its MAC address,
// sets them up, and gives back what they had when they leave. The kernel does not let it
// leave its namespace.

// defaultMIIMon is how often bonds check the carrier of ports, in milliseconds. Without
// that, the default of the kernel, a bond keeps sending through a port without carrier.
const defaultMIIMon = 100

func bondSpec() spec {
	return spec{
		typ:    interfaces.Interface_BOND,
		field:  "bond",
		traits: traits{mtu: defaultMTU, follows: true},
		check:  checkBond,
		params: func(v *interfaces.Interface) netlinkapi.LinkParams {
			b := v.GetBond()
			return netlinkapi.Bond{
				Mode:       uint8(b.GetMode()),
				MIIMon:     time.Duration(orDefault(b.GetMiimon(), defaultMIIMon)) * time.Millisecond,
				HashPolicy: uint8(b.GetHashPolicy()),
				LACPFast:   b.GetLacpFast(),
			}
		},
		fill: func(v *interfaces.Interface, p netlinkapi.LinkParams, _ string) bool {
			b, ok := p.(netlinkapi.Bond)
			v.Link = &interfaces.Interface_Bond{Bond: &interfaces.BondLink{
				Mode: interfaces.BondLink_Mode(b.Mode), Miimon: uint32(b.MIIMon / time.Millisecond),
				HashPolicy: interfaces.BondLink_HashPolicy(b.HashPolicy), LacpFast: b.LACPFast,
			}}
			return ok
		},
	}
}

func checkBond(v *interfaces.Interface) error {
	b := v.GetBond()
	errs := []error{enumField("bond.mode", b.GetMode()), enumField("bond.hash_policy", b.GetHashPolicy())}
	if b.GetLacpFast() && b.GetMode() != interfaces.BondLink_LACP {
		errs = append(errs, invalid("bond.lacp_fast", "not allowed for mode %s; expected LACP", b.GetMode()))
	}
	return errors.Join(errs...)
}

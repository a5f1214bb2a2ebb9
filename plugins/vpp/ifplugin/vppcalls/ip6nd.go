package vppcalls

import (
	"context"
	"sync"

	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/rd_cp"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

var setIP6ND = session.Require("interface: IPv6 ND", "",
	(*rd_cp.IP6NdAddressAutoconfig)(nil), (*rd_cp.IP6NdAddressAutoconfigReply)(nil))

// IP6ND is what VPP makes of the router advertisements that an interface hears.
type IP6ND struct {
	// Autoconfig gives the interface addresses in the networks advertised.
	Autoconfig bool
	// DefaultRoutes installs routes to the routers; only with Autoconfig.
	DefaultRoutes bool
}

// listening is what was set in a session, by index: VPP cannot be asked.
type listening struct {
	mu sync.Mutex
	nd map[uint32]IP6ND
}

var heard = session.NewState(func() *listening { return &listening{nd: map[uint32]IP6ND{}} })

// SetIP6ND sets what an interface makes of router advertisements. To set it
// again makes no difference.
func (c *Calls) SetIP6ND(ctx context.Context, swIfIndex uint32, nd IP6ND) error {
	set, err := heard.On(c.vpp)
	if err != nil {
		return err
	}
	set.mu.Lock()
	defer set.mu.Unlock()
	err = c.call(ctx, setIP6ND, &rd_cp.IP6NdAddressAutoconfig{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex), Enable: nd.Autoconfig, InstallDefaultRoutes: nd.DefaultRoutes,
	}, &rd_cp.IP6NdAddressAutoconfigReply{})
	if err == nil && nd != (IP6ND{}) {
		set.nd[swIfIndex] = nd
	} else {
		delete(set.nd, swIfIndex)
	}
	return err
}

// IP6ND returns what was set on an interface in this session; false if nothing
// was, which may still be in force from an earlier one.
func (c *Calls) IP6ND(swIfIndex uint32) (nd IP6ND, known bool, err error) {
	set, err := heard.On(c.vpp)
	if err != nil {
		return nd, false, err
	}
	set.mu.Lock()
	defer set.mu.Unlock()
	nd, known = set.nd[swIfIndex]
	return nd, known, nil
}

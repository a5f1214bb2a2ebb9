package descriptor

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// VPP gives the host interface of an AF_PACKET interface an MTU that fits its own, and leaves it so. When the MTU
// is removed from the configuration, or the interface is deleted, the agent restores the MTU that the host interface
// had, unless another process has changed it since or the agent does not see the host interface.

// hostMTU is what happened to the MTU of a host interface.
type hostMTU struct {
	// Before is the MTU that it had before VPP changed it.
	Before uint32
	// Set is the MTU that it got from VPP; 0 if VPP was about to change it.
	Set uint32
}

// hostMTUs has the host interfaces whose MTU VPP changed, by name. It may be used concurrently.
type hostMTUs struct {
	state State // keeps them over restarts of the agent; nil: nothing does

	mu    sync.Mutex
	known map[string]hostMTU // nil: not loaded yet
}

// hostMTUState is the name under which the state-dir has the MTUs.
const hostMTUState = "vpp-host-mtu"

func (h *hostMTUs) get(host string) (hostMTU, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known = map[string]hostMTU{}
		if h.state != nil {
			all, _ := h.state.LoadState(hostMTUState) // the scheduler reports an error
			for name, data := range all {
				var k hostMTU
				if json.Unmarshal(data, &k) == nil {
					h.known[name] = k
				}
			}
		}
	}
	k, ok := h.known[host]
	return k, ok
}

// put keeps what happened to a host interface; nil forgets it.
func (h *hostMTUs) put(host string, k *hostMTU) {
	if old, known := h.get(host); k == nil && !known || k != nil && *k == old {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var data []byte
	if k == nil {
		delete(h.known, host)
	} else {
		h.known[host] = *k
		data, _ = json.Marshal(k) // of numbers
	}
	if h.state != nil {
		_ = h.state.SaveState(hostMTUState, map[string][]byte{host: data}, false) // the scheduler reports an error
	}
}

// hostOf returns the host interface of an AF_PACKET interface and the access to it; false if it has none that the
// agent can see.
func (d *interfaceDescriptor) hostOf(i *interfaces.Interface, m *ifaceidx.IfMeta) (host string, links HostInterfaces, ok bool) {
	k, ok := d.kindOf(i).(afPacket)
	if !ok || k.host == nil || m == nil {
		return "", nil, false
	}
	host, err := k.attachedTo(i, m)
	return host, k.host, err == nil
}

// withHostMTU calls set, which sets the MTU of an interface of VPP, and notes what that did to the host interface. It
// restores the MTU of the host interface if the configuration has no MTU.
func (d *interfaceDescriptor) withHostMTU(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta, set func() error) error {
	host, links, ok := d.hostOf(i, m)
	if !ok {
		return set()
	}
	now, err := links.LinkMTU(ctx, host)
	if err != nil || now == 0 {
		return set()
	}
	k, known := d.hosts.get(host)
	if !known || k.Set != 0 && k.Set != now { // or another process has changed it
		k = hostMTU{Before: now}
	}
	k.Set = 0
	d.hosts.put(host, &k)
	err = set()
	if after, readErr := links.LinkMTU(ctx, host); readErr == nil {
		k.Set = after
		d.hosts.put(host, &k)
	}
	if err != nil || d.wantedMTU(i) != 0 {
		return err
	}
	return d.restoreHostMTU(ctx, i, m)
}

// restoreHostMTU gives a host interface the MTU that it had before VPP changed it.
func (d *interfaceDescriptor) restoreHostMTU(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	host, links, ok := d.hostOf(i, m)
	if !ok {
		return nil
	}
	k, known := d.hosts.get(host)
	if !known {
		return nil
	}
	now, err := links.LinkMTU(ctx, host)
	if err == nil && now != 0 && now != k.Before && (k.Set == 0 || k.Set == now) {
		err = links.SetLinkMTU(ctx, host, k.Before)
	}
	if err != nil {
		return fmt.Errorf("restore MTU %d of the host interface %q: %w", k.Before, host, err)
	}
	d.hosts.put(host, nil)
	return nil
}

// changedHostMTU reports whether VPP changed the MTU of the host interface of an interface.
func (d *interfaceDescriptor) changedHostMTU(i *interfaces.Interface) bool {
	host, _, ok := d.hostOf(i, d.metaOf(i))
	if !ok {
		return false
	}
	k, known := d.hosts.get(host)
	return known && k.Set != k.Before
}

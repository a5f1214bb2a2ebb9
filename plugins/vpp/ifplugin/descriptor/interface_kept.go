package descriptor

import (
	"encoding/json"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
)

// State keeps values over restarts of the agent; see kvscheduler.Scheduler.
type State interface {
	LoadState(name string) (map[string][]byte, error)
	SaveState(name string, put map[string][]byte, all bool) error
}

// initialState is the name under which the state-dir has the initial states of devices, by the
// names of the interfaces.
const initialState = "vpp-interface-initial"

// keptInitial is the initial state of a device. Only VPP knows it, and only until the agent
// changes it: the agent keeps it for its next run.
type keptInitial struct {
	// Device is what VPP calls the interface.
	Device string
	MTU    uint32
	MAC    string `json:",omitempty"`
}

// keepInitial keeps the initial state of an interface; nil forgets it. The scheduler reports it
// if nothing can be kept.
func (d *interfaceDescriptor) keepInitial(name string, k *keptInitial) {
	if d.state == nil {
		return
	}
	var data []byte
	if k != nil {
		data, _ = json.Marshal(k) // of strings and numbers
	}
	_ = d.state.SaveState(initialState, map[string][]byte{name: data}, false)
}

// keptInitials returns the initial states by the names of the interfaces.
func (d *interfaceDescriptor) keptInitials() map[string]keptInitial {
	out := map[string]keptInitial{}
	if d.state == nil {
		return out
	}
	all, _ := d.state.LoadState(initialState)
	for name, data := range all {
		var k keptInitial
		if json.Unmarshal(data, &k) == nil {
			out[name] = k
		}
	}
	return out
}

// initial returns the state in the form of metadata.
func (k keptInitial) initial() *ifaceidx.Initial {
	out := &ifaceidx.Initial{MTU: k.MTU}
	if mac, err := ipconv.ParseMAC(k.MAC); err == nil {
		out.MAC = mac
	}
	return out
}

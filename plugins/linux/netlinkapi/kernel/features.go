package kernel

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// feature is an offload as ethtool requests have it, from linux/ethtool.h.
type feature struct {
	get, set uint32 // requests
	flag     uint32 // in the data of requests; 0: the data is 0 or 1
	name     string // of offloads that need others: as the kernel names it
}

const (
	ethtoolGetFlags    = 0x25
	ethtoolSetFlags    = 0x26
	ethtoolGetStrings  = 0x1b
	ethtoolGetFeatures = 0x3a
	featureStrings     = 4 // ETH_SS_FEATURES
)

// features are the offloads of netlinkapi.OffloadNames.
var features = map[string]feature{
	netlinkapi.OffloadRXChecksum:   {ethtoolGetRXChecksum, ethtoolSetRXChecksum, 0, ""},
	netlinkapi.OffloadTXChecksum:   {ethtoolGetTXChecksum, ethtoolSetTXChecksum, 0, ""},
	"scatter-gather":               {0x18, 0x19, 0, "tx-scatter-gather"},
	"tcp-segmentation-offload":     {0x1e, 0x1f, 0, "tx-tcp-segmentation"},
	"generic-segmentation-offload": {0x23, 0x24, 0, "tx-generic-segmentation"},
	"generic-receive-offload":      {0x2b, 0x2c, 0, ""},
	"tx-vlan-offload":              {ethtoolGetFlags, ethtoolSetFlags, 1 << 7, ""},
	"rx-vlan-offload":              {ethtoolGetFlags, ethtoolSetFlags, 1 << 8, ""},
	"large-receive-offload":        {ethtoolGetFlags, ethtoolSetFlags, 1 << 15, ""},
	"ntuple-filters":               {ethtoolGetFlags, ethtoolSetFlags, 1 << 27, ""},
	"receive-hashing":              {ethtoolGetFlags, ethtoolSetFlags, 1 << 28, ""},
}

// readOffloads adds the offloads among the parameters of a link.
func (ns *namespace) readOffloads(link string, names []string, values map[string]int) error {
	for _, name := range names {
		offload, ok := netlinkapi.OffloadOf(name)
		f, known := features[offload]
		if !ok || !known {
			continue
		}
		on, err := ns.offload(link, f)
		if err == nil && !on && f.name != "" {
			on, err = ns.requested(link, f.name)
		}
		if errors.Is(err, unix.EOPNOTSUPP) {
			continue
		}
		if err != nil {
			return classify(fmt.Sprintf("read %s of %q", offload, link), err)
		}
		values[name] = int(number(on))
	}
	return nil
}

func (ns *namespace) offload(link string, f feature) (bool, error) {
	data, err := ns.ethtool(link, f.get, 0)
	if f.flag != 0 {
		data &= f.flag
	}
	return data != 0, err
}

// requested reports whether an offload is requested. The kernel keeps a requested offload off while one that it
// needs is off.
func (ns *namespace) requested(link, feature string) (bool, error) {
	names := struct {
		command, set, count uint32
		names               [256][32]byte
	}{command: ethtoolGetStrings, set: featureStrings}
	if err := ns.ethtoolRequest(link, unsafe.Pointer(&names)); err != nil {
		return false, err
	}
	states := struct {
		command, size uint32
		blocks        [8]struct{ available, requested, active, fixed uint32 }
	}{command: ethtoolGetFeatures, size: 8}
	if err := ns.ethtoolRequest(link, unsafe.Pointer(&states)); err != nil {
		return false, err
	}
	for n, name := range names.names[:min(int(names.count), 32*len(states.blocks))] {
		if unix.ByteSliceToString(name[:]) == feature {
			return states.blocks[n/32].requested&(1<<(n%32)) != 0, nil
		}
	}
	return false, nil
}

// setOffload turns an offload of a link on or off.
func (ns *namespace) setOffload(link, offload string, on bool) error {
	op := fmt.Sprintf("turn %s of %q %s", offload, link, map[bool]string{true: "on", false: "off"}[on])
	f, known := features[offload]
	if !known {
		return fmt.Errorf("%s: %w", op, netlinkapi.ErrUnsupported)
	}
	data := number(on)
	if f.flag != 0 {
		flags, err := ns.ethtool(link, f.get, 0)
		if err != nil {
			return classify(op, err)
		}
		data = flags &^ f.flag
		if on {
			data |= f.flag
		}
	}
	_, err := ns.ethtool(link, f.set, data)
	if is(err, unix.EOPNOTSUPP, unix.EINVAL) {
		return fmt.Errorf("%s: %w: the device does not let it change", op, netlinkapi.ErrUnsupported)
	}
	if err != nil {
		return classify(op, err)
	}
	now, err := ns.offload(link, f)
	if err == nil && now != on && !ns.waits(link, offload) {
		return fmt.Errorf("%s: %w: the device did not do it", op, netlinkapi.ErrUnsupported)
	}
	return classify(op, err)
}

// waits reports whether an offload stays off because one that it needs is off.
func (ns *namespace) waits(link, offload string) bool {
	for needs := netlinkapi.OffloadNeeds(offload); needs != ""; needs = netlinkapi.OffloadNeeds(needs) {
		if on, err := ns.offload(link, features[needs]); err == nil && !on {
			return true
		}
	}
	return false
}

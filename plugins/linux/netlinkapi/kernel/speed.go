package kernel

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// ethtoolGetSettings is ETHTOOL_GSET of linux/ethtool.h. The request that replaces it needs two
// calls and has the same speed.
const ethtoolGetSettings = 0x1

// linkSettings is struct ethtool_cmd.
type linkSettings struct {
	command                uint32
	supported, advertising uint32
	speedLow               uint16
	_                      [6]uint8
	_                      [2]uint32
	speedHigh              uint16
	_                      [2]uint8
	_                      [3]uint32
}

// speed returns the speed in Mb/s; 0: unknown. Drivers have two numbers for that.
func (s *linkSettings) speed() int {
	speed := uint32(s.speedHigh)<<16 | uint32(s.speedLow)
	if speed == math.MaxUint32 || speed == math.MaxUint16 {
		return 0
	}
	return int(speed)
}

// readSpeed adds the speed of a link to its parameters. It needs no privileges.
func (ns *namespace) readSpeed(link string, names []string, values map[string]int) error {
	if !slices.Contains(names, netlinkapi.LinkSpeed) {
		return nil
	}
	s := linkSettings{command: ethtoolGetSettings}
	err := ns.ethtoolRequest(link, unsafe.Pointer(&s))
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		s = linkSettings{} // the kind has none
	case err != nil:
		return classify(fmt.Sprintf("read the speed of %q", link), err)
	}
	values[netlinkapi.LinkSpeed] = s.speed()
	return nil
}

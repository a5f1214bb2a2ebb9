package kernel

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// ethtool requests, from linux/ethtool.h.
const (
	ethtoolGetChannels = 0x3c
	ethtoolSetChannels = 0x3d
)

// channels is struct ethtool_channels.
type channels struct {
	command                             uint32
	maxRX, maxTX, maxOther, maxCombined uint32
	rx, tx, other, combined             uint32
}

// number returns a number of queues, and the most that there may be.
func (c *channels) number(parameter string) (now *uint32, most uint32) {
	switch parameter {
	case netlinkapi.QueuesRX:
		return &c.rx, c.maxRX
	case netlinkapi.QueuesTX:
		return &c.tx, c.maxTX
	}
	return &c.combined, c.maxCombined
}

func (ns *namespace) channels(link string, c *channels) error {
	return ns.ethtoolRequest(link, unsafe.Pointer(c))
}

// readQueues adds the numbers of queues among the parameters of a link.
func (ns *namespace) readQueues(link string, names []string, values map[string]int) error {
	for _, name := range names {
		if !slices.Contains(netlinkapi.QueueParameters(), name) {
			continue
		}
		c := channels{command: ethtoolGetChannels}
		err := ns.channels(link, &c)
		if errors.Is(err, unix.EOPNOTSUPP) {
			continue
		}
		if err != nil {
			return classify(fmt.Sprintf("read the number of queues of %q", link), err)
		}
		if now, most := c.number(name); most > 0 {
			values[name] = int(*now)
		}
	}
	return nil
}

// setQueues changes a number of queues of a link.
func (ns *namespace) setQueues(link, parameter string, value int) error {
	op := fmt.Sprintf("set %s of %q to %d", parameter, link, value)
	c := channels{command: ethtoolGetChannels}
	if err := ns.channels(link, &c); err != nil {
		return classify(op, err)
	}
	now, most := c.number(parameter)
	switch {
	case most == 0:
		return fmt.Errorf("%s: %w: the device has no such queues", op, netlinkapi.ErrUnsupported)
	case value < 1 || value > int(most):
		return fmt.Errorf("%s: the device allows 1 to %d", op, most)
	}
	c.command, *now = ethtoolSetChannels, uint32(value)
	return classify(op, ns.channels(link, &c))
}

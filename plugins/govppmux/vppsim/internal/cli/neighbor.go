package cli

import (
	"strconv"

	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/ip_types"
)

func (c *CLI) showNeighborLimits(cmd *command) error {
	for af, name := range []string{"ip4", "ip6"} {
		limit, age, recycled := c.net.NeighborLimits(ip_types.AddressFamily(af))
		recycle := 0
		if recycled {
			recycle = 1
		}
		cmd.line("%s:", name)
		cmd.line("  limit:%d, age:%d, recycle:%d", limit, age, recycle)
	}
	return nil
}

// setNeighborLimits keeps what is not given.
func (c *CLI) setNeighborLimits(cmd *command) error {
	args := cmd.args
	af := ip_types.ADDRESS_IP4
	switch cmd.next() {
	case "ip4":
	case "ip6":
		af = ip_types.ADDRESS_IP6
	default:
		return unknownInput(args)
	}
	req := &ip_neighbor.IPNeighborConfig{Af: af}
	req.MaxNumber, req.MaxAge, req.Recycle = c.net.NeighborLimits(af)
	for len(cmd.args) > 0 {
		rest := cmd.args
		switch cmd.next() {
		case "limit", "age":
			n, err := strconv.ParseUint(cmd.next(), 10, 32)
			if err != nil {
				return unknownInput(rest)
			}
			if rest[0] == "age" {
				req.MaxAge = uint32(n)
			} else {
				req.MaxNumber = uint32(n)
			}
		case "recycle":
			req.Recycle = true
		case "norecycle":
			req.Recycle = false
		default:
			return unknownInput(rest)
		}
	}
	call[*ip_neighbor.IPNeighborConfigReply](c, req)
	return nil
}

package cli

import (
	"strconv"

	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/ip_types"
)

func (c *CLI) showNeighborLimits(cmd *command) error {
	for af, name := range []string{"ip4", "ip6"} {
		l, known := call[*ip_neighbor.IPNeighborConfigGetReply](c, &ip_neighbor.IPNeighborConfigGet{Af: ip_types.AddressFamily(af)})
		if !known {
			continue
		}
		recycle := 0
		if l.Recycle {
			recycle = 1
		}
		cmd.line("%s:", name)
		cmd.line("  limit:%d, age:%d, recycle:%d", l.MaxNumber, l.MaxAge, recycle)
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
	now, _ := call[*ip_neighbor.IPNeighborConfigGetReply](c, &ip_neighbor.IPNeighborConfigGet{Af: af})
	req := &ip_neighbor.IPNeighborConfig{Af: af, MaxNumber: now.MaxNumber, MaxAge: now.MaxAge, Recycle: now.Recycle}
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

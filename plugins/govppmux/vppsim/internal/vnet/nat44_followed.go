package vnet

import (
	"slices"

	"go.fd.io/govpp/api"
)

// natFollowed is an interface whose address is in the pool. The simulator takes the address that
// the interface has then, and does not follow it.
type natFollowed struct {
	index ifIndex
	twice bool
}

func (n *nat44) follow(f natFollowed, add bool) retval {
	at := slices.Index(n.followed, f)
	switch {
	case !n.on:
		return n.refuses()
	case n.byIndex(f.index) == nil:
		return api.INVALID_SW_IF_INDEX
	case add && at >= 0:
		return api.VALUE_EXIST
	case !add && at < 0:
		return api.NO_SUCH_ENTRY
	case add:
		n.followed = append(n.followed, f)
	default:
		n.followed = slices.Delete(n.followed, at, at+1)
	}
	if addr, has := n.firstAddress(uint32(f.index)); has {
		return n.changeRange(addr, addr, none, add, f.twice)
	}
	return ok
}

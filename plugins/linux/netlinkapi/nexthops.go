package netlinkapi

import (
	"context"
	"reflect"
	"slices"
)

// Nexthop is a nexthop object: routes that name its id take the way that it has; see
// ip-nexthop(8). It is a next hop, a blackhole, or a group of other objects.
type Nexthop struct {
	ID uint32
	// NextHop is the way of packets, without a weight; no link: the object is a blackhole or a
	// group. The interface must have a carrier.
	NextHop
	// IPv6: the object is for routes of IPv6; not set for groups.
	IPv6      bool
	Blackhole bool
	Members   []NexthopMember // of a group
	Protocol  Protocol        // ProtocolAgent marks the objects of the agent
}

// NexthopMember is a member of a group of nexthop objects.
type NexthopMember struct {
	ID     uint32
	Weight uint32 // share of the packets, 1 to 256
}

// Equal reports whether two objects are the same in all.
func (n Nexthop) Equal(other Nexthop) bool {
	members := slices.Equal(n.Members, other.Members)
	n.Members, other.Members = nil, nil
	return members && reflect.DeepEqual(n, other)
}

// Nexthops reads and changes nexthop objects.
type Nexthops interface {
	// Nexthops returns all objects except groups of other types than mpath of ip-nexthop(8)
	// and objects of bridges.
	// Equivalent to: `ip nexthop show`
	Nexthops(ctx context.Context) ([]Nexthop, error)
	// AddNexthop returns ErrExists if there is an object with the id.
	// Equivalent to: `ip nexthop add id ID via GATEWAY dev LINK`, of a group `ip nexthop add id ID group 1/2`
	AddNexthop(ctx context.Context, n Nexthop) error
	// ReplaceNexthop changes the object with the id, and so all routes through it. An object
	// that is no group cannot become one, nor the other way round.
	// Equivalent to: `ip nexthop replace id ID via GATEWAY dev LINK`
	ReplaceNexthop(ctx context.Context, n Nexthop) error
	// DeleteNexthop returns ErrNotFound if there is no such object. The kernel deletes the
	// routes through it with it, and groups that become empty.
	// Equivalent to: `ip nexthop delete id ID`
	DeleteNexthop(ctx context.Context, id uint32) error
}

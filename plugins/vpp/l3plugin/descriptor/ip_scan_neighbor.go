package descriptor

import (
	"cmp"
	"context"
	"math"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// Scanning of neighbours forgets those that are not heard of for stale_threshold
// minutes. VPP has a timer for each neighbour and one age per version of IP; the
// intervals and limits of a scan, of VPP before 20.01, have no effect. An age that
// this item cannot express shows as a stale_threshold of 4294967295.

// ipScanNeighborCalls is what the ageing of neighbours needs of VPP.
type ipScanNeighborCalls interface {
	SetIPScanNeighbor(ctx context.Context, s vppcalls.IPScanNeighbor) error
	NeighborAges(ctx context.Context) (ages vppcalls.NeighborAges, known bool, err error)
}

const (
	// defaultStaleThreshold is in minutes.
	defaultStaleThreshold = 4

	secondsPerMinute = 60
	otherAge         = math.MaxUint32
)

type ipScanDescriptor struct{ vpp ipScanNeighborCalls }

type ipScanKV = kvs.KV[*l3.IPScanNeighbor, kvs.Metadata]

// NewIPScanNeighbor describes the ageing of neighbours.
func NewIPScanNeighbor(vpp ipScanNeighborCalls) *kvs.KVDescriptor {
	d := &ipScanDescriptor{vpp}
	return kvs.Adapt(kvs.Describe(model.IPScanNeighborModel, kvs.Descriptor[*l3.IPScanNeighbor, kvs.Metadata]{
		Name:            IPScanNeighborName,
		Southbound:      item.Southbound,
		Validate:        validateIPScan,
		ValueComparator: sameIPScan,
		CreateContext: func(ctx context.Context, _ string, s *l3.IPScanNeighbor) (kvs.Metadata, error) {
			return nil, d.vpp.SetIPScanNeighbor(ctx, scan(s))
		},
		UpdateContext: func(ctx context.Context, _ string, _, s *l3.IPScanNeighbor, _ kvs.Metadata) (kvs.Metadata, error) {
			return nil, d.vpp.SetIPScanNeighbor(ctx, scan(s))
		},
		DeleteContext: func(ctx context.Context, _ string, _ *l3.IPScanNeighbor, _ kvs.Metadata) error {
			return d.vpp.SetIPScanNeighbor(ctx, scan(nil))
		},
		RetrieveContext: d.retrieve,
	}))
}

func validateIPScan(_ string, s *l3.IPScanNeighbor) error {
	var r item.Resolver
	r.Enum("mode", s.GetMode())
	return r.Err()
}

// scan applies the defaults; none is a scan that is disabled.
func scan(s *l3.IPScanNeighbor) vppcalls.IPScanNeighbor {
	both := s.GetMode() == l3.IPScanNeighbor_BOTH
	return vppcalls.IPScanNeighbor{
		IPv4:           both || s.GetMode() == l3.IPScanNeighbor_IPV4,
		IPv6:           both || s.GetMode() == l3.IPScanNeighbor_IPV6,
		StaleThreshold: uint8(cmp.Or(s.GetStaleThreshold(), defaultStaleThreshold)),
	}
}

// sameIPScan: of a scan that is disabled the rest does not matter.
func sameIPScan(_ string, a, b *l3.IPScanNeighbor) bool {
	if a.GetMode() != b.GetMode() {
		return false
	}
	return a.GetMode() == l3.IPScanNeighbor_DISABLED || scan(a) == scan(b)
}

// retrieve returns nothing when nothing ages, unless that is the desired state. What
// VPP does not have is as it is wanted, or the default.
func (d *ipScanDescriptor) retrieve(ctx context.Context, correlate []ipScanKV) ([]ipScanKV, error) {
	found, known, err := d.vpp.NeighborAges(ctx)
	if err != nil || !known {
		return nil, err
	}
	s, origin := &l3.IPScanNeighbor{}, kvs.UnknownOrigin
	if len(correlate) > 0 {
		w := correlate[0].Value
		s.ScanInterval, s.MaxProcTime, s.MaxUpdate, s.ScanIntDelay = w.GetScanInterval(), w.GetMaxProcTime(), w.GetMaxUpdate(), w.GetScanIntDelay()
		s.StaleThreshold, origin = w.GetStaleThreshold(), kvs.FromNB
	}
	switch {
	case found[0] == 0 && found[1] == 0:
		if len(correlate) == 0 || correlate[0].Value.GetMode() != l3.IPScanNeighbor_DISABLED {
			return nil, nil
		}
	case found[1] == 0:
		s.Mode = l3.IPScanNeighbor_IPV4
	case found[0] == 0:
		s.Mode = l3.IPScanNeighbor_IPV6
	default:
		s.Mode = l3.IPScanNeighbor_BOTH
	}
	if s.Mode != l3.IPScanNeighbor_DISABLED && found != scan(s).Ages() {
		s.StaleThreshold = threshold(found)
	}
	return []ipScanKV{{Key: model.IPScanNeighborModel.Key(s), Value: s, Origin: origin}}, nil
}

// threshold is the ages in minutes, or otherAge.
func threshold(found vppcalls.NeighborAges) uint32 {
	age := max(found[0], found[1])
	if least := min(found[0], found[1]); least != 0 && least != age || age%secondsPerMinute != 0 {
		return otherAge
	}
	return age / secondsPerMinute
}

package telemetry

import (
	"errors"
	"fmt"
	"time"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Errors of InterfaceStats. Compare with errors.Is.
var (
	// ErrDisabled: the configuration keeps the plugin from reading counters.
	ErrDisabled = errors.New("counters of interfaces are not read, by the configuration of telemetry")
	// ErrUnreadable: the stats segment of VPP can not be read now.
	ErrUnreadable = errors.New("the counters of VPP can not be read")
)

// InterfaceStats returns the counters of all interfaces of VPP, in the order of
// their indexes, as they were no longer ago than maxAge. The name comes from the
// configuration, or from VPP where the configuration does not know the
// interface.
func (p *Plugin) InterfaceStats(maxAge time.Duration) ([]*interfaces.InterfaceStats, error) {
	list, err := p.interfaceStats(maxAge)
	if err != nil {
		return nil, err
	}
	stats := make([]*interfaces.InterfaceStats, len(list))
	for i := range list {
		stats[i] = list[i].message()
	}
	return stats, nil
}

// InterfaceStatistics returns the counters of the interfaces of the
// configuration by their names, in the form in which they are published with
// states, as they were no longer ago than maxAge.
func (p *Plugin) InterfaceStatistics(maxAge time.Duration) (map[string]*interfaces.InterfaceState_Statistics, error) {
	list, err := p.interfaceStats(maxAge)
	if err != nil {
		return nil, err
	}
	stats := make(map[string]*interfaces.InterfaceState_Statistics, len(list))
	for i := range list {
		if list[i].logical != "" {
			stats[list[i].logical] = list[i].statistics()
		}
	}
	return stats, nil
}

func (p *Plugin) interfaceStats(maxAge time.Duration) ([]ifaceStats, error) {
	if p.cfg.Disabled || !p.cfg.wanted(Interfaces) {
		return nil, ErrDisabled
	}
	state := p.readSince(maxAge)
	if state.snapshot == nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, state.err)
	}
	return state.snapshot.interfaces, nil
}

// count is one counter of the interface, by the suffix of the metric.
func (i *ifaceStats) count(name string) uint64 {
	for _, c := range i.counters {
		if c.name == name {
			return c.value
		}
	}
	return 0
}

func (i *ifaceStats) message() *interfaces.InterfaceStats {
	combined := func(name string) *interfaces.InterfaceStats_CombinedCounter {
		return &interfaces.InterfaceStats_CombinedCounter{Packets: i.count(name + "_packets"), Bytes: i.count(name + "_bytes")}
	}
	s := &interfaces.InterfaceStats{
		Name: i.logical,
		Rx:   combined("rx"), Tx: combined("tx"),
		RxUnicast: combined("rx_unicast"), RxMulticast: combined("rx_multicast"), RxBroadcast: combined("rx_broadcast"),
		TxUnicast: combined("tx_unicast"), TxMulticast: combined("tx_multicast"), TxBroadcast: combined("tx_broadcast"),
		RxError: i.count("rx_errors"), TxError: i.count("tx_errors"), RxNoBuf: i.count("rx_no_buf"), RxMiss: i.count("rx_miss"),
		Drops: i.count("drops"), Punts: i.count("punts"), Ip4: i.count("ip4"), Ip6: i.count("ip6"), Mpls: i.count("mpls"),
	}
	if s.Name == "" {
		s.Name = i.internal
	}
	return s
}

func (i *ifaceStats) statistics() *interfaces.InterfaceState_Statistics {
	return &interfaces.InterfaceState_Statistics{
		InPackets: i.count("rx_packets"), InBytes: i.count("rx_bytes"),
		OutPackets: i.count("tx_packets"), OutBytes: i.count("tx_bytes"),
		DropPackets: i.count("drops"), PuntPackets: i.count("punts"),
		Ipv4Packets: i.count("ip4"), Ipv6Packets: i.count("ip6"),
		InNobufPackets: i.count("rx_no_buf"), InMissPackets: i.count("rx_miss"),
		InErrorPackets: i.count("rx_errors"), OutErrorPackets: i.count("tx_errors"),
	}
}

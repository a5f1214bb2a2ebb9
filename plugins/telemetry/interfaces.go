package telemetry

import (
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg"
)

// simpleCounters are the counters of interfaces below /if, with the suffix of
// the metric.
func simpleCounters() [][2]string {
	return [][2]string{
		{"rx-error", "rx_errors"}, {"tx-error", "tx_errors"},
		{"drops", "drops"},
		{"punt", "punts"},
		{"ip4", "ip4"},
		{"ip6", "ip6"},
		{"mpls", "mpls"},
		{"rx-no-buf", "rx_no_buf"},
		{"rx-miss", "rx_miss"},
	}
}

// combinedCounters returns the counters of packets and bytes. All but the first
// two are counted only where that is switched on in VPP, per interface, and are
// shown only once they counted anything.
func combinedCounters() []string {
	return []string{"rx", "tx", "rx-unicast", "rx-multicast", "rx-broadcast", "tx-unicast", "tx-multicast", "tx-broadcast"}
}

// readInterfaces reads the counters of the interfaces that exist.
func (s *snapshot) readInterfaces(d *statseg.Directory, names []string) error {
	exists := existing(d)
	for index, name := range names {
		if name != "" && name != deleted && (exists == nil || exists[uint32(index)]) {
			s.interfaces = append(s.interfaces, ifaceStats{index: uint32(index), internal: name})
		}
	}
	for n, what := range combinedCounters() {
		threads, err := d.Combined("/if/" + what)
		if err != nil {
			return err
		}
		suffix := strings.ReplaceAll(what, "-", "_")
		for i := range s.interfaces {
			sum := sumCounts(threads, int(s.interfaces[i].index))
			if n < 2 || sum != (statseg.Count{}) {
				s.interfaces[i].add(suffix+"_packets", sum.Packets)
				s.interfaces[i].add(suffix+"_bytes", sum.Bytes)
			}
		}
	}
	for _, what := range simpleCounters() {
		threads, err := d.Simple("/if/" + what[0])
		if err != nil {
			return err
		}
		for i := range s.interfaces {
			var sum uint64
			for thread := range threads {
				sum += element(threads, thread, int(s.interfaces[i].index))
			}
			s.interfaces[i].add(what[1], sum)
		}
	}
	return nil
}

// existing are the indexes of the interfaces that VPP has a symlink to the counters
// of; nil if it makes none. VPP 23.06 keeps the name of an interface that is deleted,
// later ones call it "deleted"; all of them remove the symlinks.
func existing(d *statseg.Directory) map[uint32]bool {
	var out map[uint32]bool
	for e := range d.All() {
		if e.Kind == statseg.Symlink && strings.HasPrefix(e.Name, "/interfaces/") {
			if out == nil {
				out = map[uint32]bool{}
			}
			out[e.Element()] = true
		}
	}
	return out
}

func (i *ifaceStats) add(name string, value uint64) {
	i.counters = append(i.counters, namedValue{name, value})
}

func sumCounts(threads [][]statseg.Count, index int) (sum statseg.Count) {
	for _, counts := range threads {
		if index < len(counts) {
			sum.Packets += counts[index].Packets
			sum.Bytes += counts[index].Bytes
		}
	}
	return sum
}

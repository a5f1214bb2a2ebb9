package telemetry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg"
)

// snapshot is what VPP counts, at one time. A group that is skipped, or that
// VPP has not, is empty.
type snapshot struct {
	interfaces []ifaceStats
	nodes      []nodeStats
	threads    []threadStats
	system     []namedValue
	errors     []errorStats
	heaps      []heapStats
	pools      []poolStats
	rules      []ruleStats
}

// ifaceStats are the counters of an interface, by the suffix of the metric.
type ifaceStats struct {
	index    uint32
	internal string // VPP's name
	logical  string // name in the configuration, if it is known
	counters []namedValue
}

type namedValue struct {
	name  string
	value uint64
}

// nodeStats is the work of a node in one thread.
type nodeStats struct {
	node                             string
	thread                           int
	calls, vectors, suspends, clocks uint64
}

// threadStats is the load of a thread.
type threadStats struct {
	thread            int
	vectorRate, loops uint64
}

type errorStats struct {
	node, reason string
	count        uint64
}

// heapStats are the values of a heap, by the suffix of the metric.
type heapStats struct {
	heap   string
	values []namedValue
}

type poolStats struct {
	pool                    string
	used, available, cached uint64
}

// deleted is VPP's name of interfaces that are gone (vnet/interface/stats.c).
const deleted = "deleted"

// takeSnapshot reads the groups that are wanted.
func takeSnapshot(d *statseg.Directory, rules ACLRules, wanted func(group string) bool) (*snapshot, error) {
	s := &snapshot{}
	names, err := d.Names("/if/names")
	if err != nil {
		return nil, err
	}
	for _, g := range []struct {
		group string
		read  func(*statseg.Directory) error
	}{
		{Interfaces, func(d *statseg.Directory) error { return s.readInterfaces(d, names) }},
		{Runtime, s.readRuntime},
		{Nodes, func(d *statseg.Directory) error { return s.readErrors(d, names) }},
		{Memory, s.readMemory},
		{Buffers, s.readBuffers},
		{ACLs, func(d *statseg.Directory) error { return s.readRules(d, rules) }},
	} {
		if !wanted(g.group) {
			continue
		}
		if err := g.read(d); err != nil {
			return nil, fmt.Errorf("%s: %w", g.group, err)
		}
	}
	return s, nil
}

// readRuntime reads what nodes did, if VPP counts that (per-node-counters in the
// stanza statseg), and how loaded the threads are. A node that did nothing in a
// thread is left out: there are hundreds.
func (s *snapshot) readRuntime(d *statseg.Directory) error {
	names, err := d.Names("/sys/node/names")
	if err != nil {
		return err
	}
	var counters [4][][]uint64
	for i, name := range []string{"calls", "vectors", "suspends", "clocks"} {
		if counters[i], err = d.Simple("/sys/node/" + name); err != nil {
			return err
		}
	}
	type at struct {
		node   string
		thread int
	}
	known := map[at]int{} // a name may be there twice, while a node is replaced
	for thread := range counters[0] {
		for index, node := range names {
			value := func(n int) uint64 { return element(counters[n], thread, index) }
			n := nodeStats{node, thread, value(0), value(1), value(2), value(3)}
			if goneNode(node) || n.calls == 0 && n.suspends == 0 {
				continue
			}
			if i, ok := known[at{node, thread}]; ok {
				s.nodes[i].add(n)
				continue
			}
			known[at{node, thread}] = len(s.nodes)
			s.nodes = append(s.nodes, n)
		}
	}
	return s.readSystem(d)
}

// goneNode reports whether a node has no name, or one that VPP gives to nodes that
// it no longer needs: it never removes any.
func goneNode(name string) bool {
	return name == "" || strings.HasPrefix(name, "deleted-") || strings.HasSuffix(name, "-deleted")
}

func (n *nodeStats) add(o nodeStats) {
	n.calls, n.vectors = n.calls+o.calls, n.vectors+o.vectors
	n.suspends, n.clocks = n.suspends+o.suspends, n.clocks+o.clocks
}

func (s *snapshot) readSystem(d *statseg.Directory) error {
	rates, err := d.Simple("/sys/vector_rate_per_worker")
	if err != nil {
		return err
	}
	loops, err := d.Simple("/sys/loops_per_worker")
	if err != nil {
		return err
	}
	for thread := range max(len(rates), len(loops)) {
		s.threads = append(s.threads, threadStats{thread, element(rates, thread, 0), element(loops, thread, 0)})
	}
	for _, m := range systemMetrics() {
		v, ok, err := d.Scalar("/sys/" + m.entry)
		if err != nil {
			return err
		}
		if ok {
			s.system = append(s.system, namedValue{m.name, v})
		}
	}
	return nil
}

// readErrors reads the counters of nodes, those that ever counted anything:
// there are thousands.
func (s *snapshot) readErrors(d *statseg.Directory, interfaces []string) error {
	known := map[errorStats]int{}
	for e := range d.All() {
		name, ok := strings.CutPrefix(e.Name, "/err/")
		if !ok || e.Kind != statseg.Symlink {
			continue
		}
		count, err := d.Sum(e)
		if err != nil {
			return err
		}
		if count == 0 {
			continue
		}
		node, reason := splitError(name, interfaces)
		if goneNode(node) {
			continue
		}
		key := errorStats{node: node, reason: reason}
		if i, ok := known[key]; ok {
			s.errors[i].count += count
			continue
		}
		known[key] = len(s.errors)
		s.errors = append(s.errors, errorStats{node, reason, count})
	}
	return nil
}

// splitError divides "node/reason". Reasons may contain slashes; of nodes only
// those do that are named after an interface.
func splitError(name string, interfaces []string) (node, reason string) {
	for _, iface := range interfaces {
		if !strings.Contains(iface, "/") || !strings.HasPrefix(name, iface) {
			continue
		}
		tail, reason, ok := strings.Cut(name[len(iface):], "/")
		if ok && (tail == "" || tail[0] == '-') {
			return iface + tail, reason
		}
	}
	node, reason, _ = strings.Cut(name, "/")
	return node, reason
}

// readMemory reads the heaps: vectors with 7 values, see provider_mem.c of VPP.
func (s *snapshot) readMemory(d *statseg.Directory) error {
	for e := range d.All() {
		heap, ok := strings.CutPrefix(e.Name, "/mem/")
		if !ok || e.Kind != statseg.Simple {
			continue
		}
		values, err := d.Simple(e.Name)
		if err != nil {
			return err
		}
		h := heapStats{heap: heap}
		for _, m := range heapMetrics() {
			if len(values) > 0 && m.index < len(values[0]) {
				h.values = append(h.values, namedValue{m.name, values[0][m.index]})
			}
		}
		s.heaps = append(s.heaps, h)
	}
	return nil
}

// readBuffers reads the pools of buffers, one per NUMA node.
func (s *snapshot) readBuffers(d *statseg.Directory) error {
	for e := range d.All() {
		pool, ok := strings.CutPrefix(e.Name, "/buffer-pools/")
		if !ok {
			continue
		}
		i := strings.LastIndexByte(pool, '/')
		if i < 0 {
			continue
		}
		pool, what := pool[:i], pool[i+1:]
		v, _, err := d.Scalar(e.Name)
		if err != nil {
			return err
		}
		n := slices.IndexFunc(s.pools, func(p poolStats) bool { return p.pool == pool })
		if n < 0 {
			n, s.pools = len(s.pools), append(s.pools, poolStats{pool: pool})
		}
		switch p := &s.pools[n]; what {
		case "used":
			p.used = v
		case "available":
			p.available = v
		case "cached":
			p.cached = v
		}
	}
	return nil
}

// element is a counter, 0 where VPP has not made room for it yet.
func element(counters [][]uint64, thread, index int) uint64 {
	if thread >= len(counters) || index >= len(counters[thread]) {
		return 0
	}
	return counters[thread][index]
}

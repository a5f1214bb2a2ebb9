package main

import (
	"bufio"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// guard finds out what touches objects that are right: requests to VPP, and events of the
// kernel.
type guard struct {
	right   state // objects that nothing has to touch
	seq     int   // number of the last request that was looked at
	vpp     *vppState
	indexes map[string]int
	touched []string
}

// touchedBy is the name of what a request is about; "" for one that only reads. Objects that
// are not known by their numbers are new, and not right yet.
func (s *vppState) touchedBy(message, fields string) string {
	field := func(name string) string { return fieldOf(fields, name) }
	of := func(index string) string { return "if " + s.interfaces[field(index)] }
	switch message {
	case "ip_route_add_del":
		return "route " + field("Prefix") + " in " + field("TableID")
	case "ip_neighbor_add_del":
		return "arp " + field("IPAddress") + " on " + s.interfaces[field("SwIfIndex")]
	case "ip_table_add_del_v2":
		return "table " + field("TableID")
	case "sw_interface_add_del_address":
		return of("SwIfIndex") + " address " + field("Prefix")
	case "sw_interface_set_table":
		return of("SwIfIndex") + " table"
	case "sw_interface_set_flags":
		return of("SwIfIndex") + " up"
	case "sw_interface_set_mtu", "hw_interface_set_mtu":
		return of("SwIfIndex") + " mtu"
	case "sw_interface_set_l2_bridge":
		return "bd " + s.domains[field("BdID")] + " member " + s.interfaces[field("RxSwIfIndex")]
	case "l2_interface_vlan_tag_rewrite":
		return s.attachment(s.interfaces[field("SwIfIndex")])
	case "bridge_domain_add_del_v2":
		return "bd " + s.domains[field("BdID")]
	case "bd_ip_mac_add_del":
		return "bd " + s.domains[field("BdID")] + " arp " + field("IP")
	case "sw_interface_set_unnumbered":
		return of("UnnumberedSwIfIndex") + " unnumbered"
	case "create_vlan_subif":
		return "if " + s.device0(fmt.Sprintf("virtio of %s vlan %s/0", s.interfaces[field("SwIfIndex")], field("VlanID")))
	case "bridge_flags", "bridge_domain_set_mac_age":
		return "bd " + s.domains[field("BdID")] + " features"
	case "l2fib_add_del":
		return "fib " + field("Mac") + " in " + s.domains[field("BdID")]
	case "memif_socket_filename_add_del":
		return "memif-socket " + s.sockets[field("SocketID")]
	case "memif_socket_filename_add_del_v2":
		return "memif-socket " + field("SocketFilename")
	case "create_loopback", "create_loopback_instance":
		return "if " + s.macs[field("MacAddress")]
	case "tap_create_v3":
		return "if " + field("Tag")
	case "af_packet_create_v3", "af_packet_delete":
		return "if " + s.device0("af-packet host-"+field("HostIfName"))
	case "memif_create_v2":
		return "if " + s.device0("memif "+field("ID"))
	case "vxlan_add_del_tunnel_v3":
		return "if " + s.device0(fmt.Sprintf("VXLAN %s to %s vni %s", field("SrcAddress"), field("DstAddress"), field("Vni")))
	case "sw_interface_tag_add_del", "delete_loopback", "delete_subif", "memif_delete", "tap_delete_v2", "sw_interface_set_rx_mode":
		return of("SwIfIndex")
	}
	return "request " + message
}

// attachment is the name of the membership of an interface in a bridge domain, whose frames
// get the tags that the interface is configured for.
func (s *vppState) attachment(name string) string {
	for object := range s.state {
		if name != "" && strings.HasPrefix(object, "bd ") && strings.HasSuffix(object, " member "+name) {
			return object
		}
	}
	return "if " + name + " tags"
}

// device0 is the name of the interface with this description.
func (s *vppState) device0(text string) string {
	for name, have := range s.state {
		if have == text {
			return strings.TrimPrefix(name, "if ")
		}
	}
	return ""
}

// fieldOf is a field in the text of a request.
func fieldOf(fields, name string) string {
	_, rest, found := strings.Cut(" "+strings.ReplaceAll(fields, "{", " "), " "+name+":")
	if !found {
		return ""
	}
	if end := strings.IndexAny(rest, " }"); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// known are the requests that touchedBy knows.
func (g *guard) request(line string) {
	words := strings.SplitN(line, " ", 7)
	if len(words) < 7 {
		return
	}
	seq, err := strconv.Atoi(words[0])
	if err != nil || seq <= g.seq {
		return
	}
	g.seq = seq
	if message := words[5]; !reads(message) {
		name := g.vpp.touchedBy(message, words[6])
		if _, right := g.right[name]; right || strings.HasPrefix(name, "request ") {
			g.touched = append(g.touched, fmt.Sprintf("%s by request %s", name, line[:min(len(line), 300)]))
		}
	}
}

// look checks everything that happened since the last time.
func (tr *trial) look() {
	tr.t.Helper()
	for _, line := range tr.sim.ask(fmt.Sprintf("journal %d", tr.guard.seq)) {
		tr.guard.request(line)
	}
	for _, m := range tr.monitors {
		for _, name := range m.events() {
			if _, right := tr.guard.right[name]; right {
				tr.guard.touched = append(tr.guard.touched, name+" by an event of the kernel")
			}
		}
	}
}

// snapshot looks, and from now on guards what is as the configuration says as well.
func (tr *trial) snapshot() state {
	tr.t.Helper()
	tr.look()
	g := &tr.guard
	now, vpp, indexes := tr.observed()
	for _, name := range slices.Sorted(maps.Keys(g.right)) {
		if _, exists := now[name]; !exists {
			g.touched = append(g.touched, name+" is missing")
		} else if was, linked := g.indexes[name]; linked && was != indexes[name] {
			g.touched = append(g.touched, fmt.Sprintf("%s was link %d and is link %d", name, was, indexes[name]))
		}
	}
	g.vpp, g.indexes, g.right = vpp, indexes, tr.network.kept(now)
	tr.forgetSockets()
	return now
}

// forgetSockets drops the sockets of memifs, which are no values: they come and go with
// their users.
func (tr *trial) forgetSockets() {
	maps.DeleteFunc(tr.guard.right, func(name, _ string) bool { return strings.HasPrefix(name, "memif-socket ") })
}

// monitor has the events of a namespace of the kernel, from ip(8).
type monitor struct {
	t  *testing.T
	ns string
	n  int // of the last mark

	mu    sync.Mutex
	lines []string
	count int
	marks chan string
}

func newMonitor(t *testing.T, ns string) *monitor {
	t.Helper()
	m := &monitor{t: t, ns: ns, marks: make(chan string, 100)}
	cmd := exec.Command("ip", "-4", "-o", "-n", ns, "monitor", "link", "address", "route")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			m.line(lines.Text())
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-read; _ = cmd.Wait() })
	for begun := false; !begun; { // what happens before it listens is not reported
		m.mark()
		select {
		case <-m.marks:
			begun = true
		case <-time.After(50 * time.Millisecond):
		}
	}
	return m
}

func (m *monitor) line(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := strings.Index(line, "127.9."); at >= 0 {
		if strings.Contains(line, " lo ") && !strings.HasPrefix(line, "Deleted") && strings.Contains(line, "inet ") {
			select {
			case m.marks <- strings.Fields(line[at:])[0]:
			default: // the namespace ends
			}
		}
		return
	}
	m.count++
	m.lines = append(m.lines, line)
}

// seen is how many events there were.
func (m *monitor) seen() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// events are the names of what events were about since the last time. A mark, which is an
// address, reports where they end.
func (m *monitor) events() (names []string) {
	m.t.Helper()
	mark := m.mark()
	for got := ""; got != mark; {
		got = <-m.marks
	}
	m.mu.Lock()
	lines := m.lines
	m.lines = nil
	m.mu.Unlock()
	for _, line := range lines {
		if name := m.about(line); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// mark adds a mark to the events, and returns it.
func (m *monitor) mark() string {
	m.t.Helper()
	m.n++
	mark := fmt.Sprintf("127.9.%d.%d/32", m.n/250%250, m.n%250+1)
	for _, verb := range []string{"add", "del"} {
		if out, err := exec.Command("ip", "-n", m.ns, "address", verb, mark, "dev", "lo").CombinedOutput(); err != nil {
			m.t.Fatalf("mark %s: %v: %s", mark, err, out)
		}
	}
	return mark
}

// about is what an event is about; "" if that does not matter: links may change.
func (m *monitor) about(line string) string {
	deleted := strings.HasPrefix(line, "Deleted ")
	words := strings.Fields(strings.TrimPrefix(line, "Deleted "))
	switch {
	case len(words) < 3:
	case words[2] == "inet":
		return linkID(m.ns, words[1]) + " address " + words[3]
	case strings.HasSuffix(words[0], ":"):
		if name, _, _ := strings.Cut(strings.TrimSuffix(words[1], ":"), "@"); deleted {
			return linkID(m.ns, name)
		}
	case words[1] == "via":
		return fmt.Sprintf("linux %s route %s", m.ns, words[0])
	}
	return ""
}

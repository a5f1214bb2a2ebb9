package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// state is what a southbound has: objects by name, with what they are like.
type state map[string]string

// add adds an object. One that is there twice has two names.
func (s state) add(name, text string) {
	for _, twice := s[name]; twice; _, twice = s[name] {
		name += " (again)"
	}
	s[name] = text
}

// difference compares two states (-want +got); empty: they are the same.
func (s state) difference(want state) string { return cmp.Diff(want, s) }

// vppState is what a simulator has, and the numbers under which messages name it.
type vppState struct {
	state
	interfaces map[string]string // name by index
	domains    map[string]string // name by ID
	macs       map[string]string // name of the interface by MAC address
	sockets    map[string]string // name of the file by ID
}

// parseVPP reads the dump of a simulator.
func parseVPP(lines []string) *vppState {
	s := &vppState{state{}, map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}}
	for _, line := range lines {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "interface "):
			s.interfaces[words[1]] = tagOf(words, "untagged-"+words[2])
		case strings.HasPrefix(line, "bridge-domain "):
			s.domains[words[1]] = tagOf(words, "untagged-"+words[1])
		}
	}
	object := ""
	for _, line := range lines {
		words := strings.Fields(line)
		if strings.HasPrefix(line, " ") {
			s.part(object, line, words)
			continue
		}
		object = s.object(line, words)
	}
	return s
}

// tagOf is the tag in a line of a dump.
func tagOf(words []string, otherwise string) string {
	if at := slices.Index(words, "tag"); at > 0 {
		return strings.Trim(words[at+1], `"`)
	}
	return otherwise
}

func after(words []string, word string) string {
	if at := slices.Index(words, word); at >= 0 && at+1 < len(words) {
		return words[at+1]
	}
	return ""
}

// object reads a line that begins an object, and returns its name.
func (s *vppState) object(line string, words []string) string {
	switch {
	case strings.HasPrefix(line, "interface 0 "): // local0
		return ""
	case words[0] == "interface":
		return s.device(words)
	case words[0] == "memif":
		if !strings.HasSuffix(line, " of 0") { // nothing uses it
			s.sockets[words[2]] = strings.Trim(words[3], `"`)
			s.add("memif-socket "+s.sockets[words[2]], "")
		}
	case words[0] == "bridge-domain":
		name := "bd " + s.domains[words[1]]
		s.add(name, "")
		features := after(words, "features")
		if slices.Contains(words, "mac-age") {
			features += " mac-age " + after(words, "mac-age")
		}
		s.add(name+" features", features)
		return name
	case words[0] == "l2fib" && slices.Contains(words, "bvi"):
		s.add("bvi-fib of "+s.interfaces[after(words, "to")]+" in "+s.domains[words[3]], "")
	case words[0] == "l2fib":
		s.add("fib "+words[1]+" in "+s.domains[words[3]], "to "+s.interfaces[words[5]]+" "+strings.Join(words[6:], " "))
	case len(words) == 4 && words[1] == "table":
		s.add("table "+words[2], words[3])
	case len(words) > 4 && words[1] == "route":
		s.add("route "+words[2]+" in "+words[4], s.paths(words[5:]))
	case words[0] == "neighbor":
		s.add("arp "+words[1]+" on "+s.interfaces[words[5]], "at "+words[3]+" "+strings.Join(words[6:], " "))
	default:
		s.add("line "+line, "")
	}
	return ""
}

func (s *vppState) device(words []string) string {
	tag := s.interfaces[words[1]]
	name, text := "if "+tag, words[3]
	switch {
	case text == "memif":
		text += " " + words[2][strings.Index(words[2], "/")+1:]
	case text == "af-packet":
		text += " " + words[2]
	case slices.Contains(words, "of"):
		text += " of " + s.interfaces[after(words, "of")] + " vlan " + after(words, "vlan")
	}
	s.add(name, text)
	s.add(name+" table", "0")
	if slices.Contains(words, "admin-up") {
		s.add(name+" up", "")
	}
	mtu, _, _ := strings.Cut(after(words, "mtu"), "/")
	s.add(name+" mtu", mtu)
	if mac := after(words, "mac"); mac != "" {
		s.macs[mac] = tag
	}
	return name
}

// part reads a line that belongs to an object.
func (s *vppState) part(object, line string, words []string) {
	switch {
	case object == "":
	case words[0] == "router:" && after(words, "send") == "false": // as IPv6 comes with
	case words[0] == "ip4" && words[1] == "table":
		s.state[object+" table"] = words[2]
	case words[0] == "member":
		s.add(object+" member "+s.interfaces[words[1]], strings.Join(words[2:], " "))
	case words[0] == "arp":
		s.add(object+" arp "+words[1], strings.Join(words[2:], " "))
	case words[0] == "unnumbered":
		s.add(object+" unnumbered", "to "+s.interfaces[words[2]])
	case words[0] == "rx":
		s.add(object+" rx queue "+words[2], words[3])
	case words[0] == "tunnel":
		s.state[object] += " " + strings.Join(words[1:], " ")
	case words[0] == "address":
		s.add(object+" address "+words[1], "")
	default:
		s.add(object+" "+strings.TrimSpace(line), "")
	}
}

// paths names the interfaces of the paths of a route.
func (s *vppState) paths(words []string) string {
	words = slices.Clone(words)
	for i, word := range words {
		if i > 0 && words[i-1] == "if" {
			index := strings.TrimSuffix(word, "]")
			words[i] = s.interfaces[index] + word[len(index):]
		}
	}
	return strings.Join(words, " ")
}

// kernel reads what the kernel has of the trial, with ip(8).
type kernel struct {
	t     *testing.T
	names names
}

type ipLink struct {
	Ifname, Ifalias string
	Ifindex         int
	Flags           []string
	AddrInfo        []struct {
		Family, Local string
		Prefixlen     int
	} `json:"addr_info"`
}

type ipRoute struct{ Dst, Gateway, Dev, Protocol, Lladdr string }

// ask runs ip(8) in a namespace.
func (k kernel) ask(ns string, into any, args ...string) {
	k.t.Helper()
	if ns != "" {
		args = append([]string{"-n", ns}, args...)
	}
	out, err := exec.Command("ip", append([]string{"-4", "-j"}, args...)...).Output()
	if err != nil {
		k.t.Fatalf("ip %v: %v", args, err)
	}
	if len(strings.TrimSpace(string(out))) == 0 {
		return
	}
	if err := json.Unmarshal(out, into); err != nil {
		k.t.Fatalf("ip %v: %v: %s", args, err, out)
	}
}

// read returns the objects, and the index of each link.
func (k kernel) read() (state, map[string]int) {
	k.t.Helper()
	s, indexes := state{}, map[string]int{}
	for _, ns := range []string{"", k.names.left, k.names.right} {
		k.links(ns, s, indexes)
		if ns == "" {
			continue
		}
		var routes, neighbors []ipRoute
		k.ask(ns, &routes, "route", "show")
		for _, r := range routes {
			if r.Protocol != "kernel" {
				s.add(fmt.Sprintf("linux %s route %s", ns, r.Dst), "via "+r.Gateway+" dev "+r.Dev)
			}
		}
		k.ask(ns, &neighbors, "neigh", "show", "nud", "permanent")
		for _, n := range neighbors {
			s.add(fmt.Sprintf("linux %s arp %s on %s", ns, n.Dst, n.Dev), "at "+n.Lladdr)
		}
	}
	return s, indexes
}

// links reads the links and their addresses. In the namespace of the agent it
// leaves out the links of others.
func (k kernel) links(ns string, s state, indexes map[string]int) {
	k.t.Helper()
	var links []ipLink
	var addressed []ipLink
	k.ask(ns, &links, "link", "show")
	k.ask(ns, &addressed, "address", "show")
	for _, l := range links {
		if l.Ifname == "lo" || ns == "" && !strings.HasPrefix(l.Ifname, k.names.prefix) && !strings.HasPrefix(strings.TrimPrefix(l.Ifalias, "/vnf-agent/"), k.names.prefix) {
			continue
		}
		name, up := linkID(ns, l.Ifname), "down"
		if slices.Contains(l.Flags, "UP") {
			up = "up"
		}
		s.add(name, up)
		indexes[name] = l.Ifindex
		for _, with := range addressed {
			if with.Ifindex != l.Ifindex {
				continue
			}
			for _, a := range with.AddrInfo {
				s.add(fmt.Sprintf("%s address %s/%d", name, a.Local, a.Prefixlen), "")
			}
		}
	}
}

// observed is the state of both southbounds.
func (tr *trial) observed() (state, *vppState, map[string]int) {
	tr.t.Helper()
	vpp := parseVPP(tr.sim.ask("dump"))
	linux, indexes := tr.kernel.read()
	all := maps.Clone(vpp.state)
	maps.Copy(all, linux)
	return all, vpp, indexes
}

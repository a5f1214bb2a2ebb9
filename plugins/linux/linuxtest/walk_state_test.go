package linuxtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/kernel"
)

// chosenMAC begins the MAC addresses of configurations and of foreign links.
const chosenMAC = "02:00:00:00:"

// State implements walktest.World.
func (w *walked) State() []string {
	var state []string
	for _, ns := range []string{"", "left", "made"} {
		if err := w.linux.Create(w.linux.Path(ns)); ns != "" && !errors.Is(err, netlinkapi.ErrExists) {
			must(w, err) // the agent leaves the namespaces that it made
		}
		if w.linux.Sim == nil {
			state = append(append(state, w.read(ns)...), w.parameters(ns)...)
		}
	}
	if w.linux.Sim != nil {
		state = append(state, w.simulated()...)
	}
	return state
}

// simulated returns the lines of the simulator, with the namespaces and tables that they are in.
func (w *walked) simulated() (state []string) {
	var above [3]string
	for line := range strings.Lines(w.linux.Sim.String()) {
		if strings.Contains(line, "address 127.0.0.1/8") {
			continue // see automatic
		}
		line = withoutChosen(strings.TrimSuffix(line, "\n"))
		depth := min((len(line)-len(strings.TrimLeft(line, " ")))/2, 2)
		if strings.HasPrefix(line, "\t") {
			depth = 2
		}
		above[depth] = strings.TrimSpace(line)
		state = append(state, strings.Join(above[:depth+1], ": "))
		if words := strings.Fields(line); words[0] == "link" { // the lines below are about it, whatever it has
			above[depth] = words[0] + " " + words[1]
		}
	}
	return state
}

// parameters reads the parameters, offloads and queues that items set.
func (w *walked) parameters(ns string) (state []string) {
	names := netlinkapi.QueueParameters()
	for _, p := range parameters {
		names = append(names, p.name)
	}
	for _, o := range walkOffloads {
		names = append(names, netlinkapi.OffloadParameter(o))
	}
	path := ""
	if ns != "" {
		path = w.linux.Path(ns)
	}
	h, err := w.linux.Namespaces.Open(path, netlinkapi.Gate{})
	must(w, err)
	defer h.Close()
	links, err := h.Links(w.Context())
	must(w, err)
	for _, l := range links {
		values, err := h.Sysctls(w.Context(), l.Name, names)
		must(w, err)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			state = append(state, fmt.Sprintf("namespace %q: %s %s = %d", ns, l.Name, name, values[name]))
		}
	}
	return state
}

// command is a program that reads a namespace.
type command struct {
	program string
	input   string // lines of a batch
}

// The outputs of commands are JSON; the outputs of filters are text.
var (
	commands = []command{
		{"ip -d -j -batch -", "link\naddr\nroute show table all\nrule\nneigh show nud permanent\nnexthop\n"}, {"ip -6 -j rule", ""},
		{"bridge -j -batch -", "vlan\nfdb\n"},
	}
	tables  = []command{{"nft -s list ruleset", ""}}
	filters = []command{{"iptables-save", ""}, {"ip6tables-save", ""}}
)

// read reads a namespace of the kernel with the programs of users.
func (w *walked) read(ns string) (state []string) {
	for n, out := range w.run(ns, commands) {
		parts := json.NewDecoder(strings.NewReader(out))
		lines := strings.Split(commands[n].input, "\n")
		for part := 0; parts.More(); part++ {
			var v any
			if err := parts.Decode(&v); err != nil {
				w.Fatalf("%s: %v: %s", commands[n].program, err, out)
			}
			what, _, _ := strings.Cut(commands[n].program, " -j")
			if lines[part] == "fdb" {
				v = permanent(v)
			}
			for _, line := range flat(nil, what+" "+lines[part], v) {
				if !automatic.MatchString(line) {
					state = append(state, fmt.Sprintf("namespace %q: %s", ns, withoutChosen(line)))
				}
			}
		}
	}
	ruleset := w.run(ns, tables)[0]
	for _, line := range tableLines(ruleset) {
		state = append(state, fmt.Sprintf("namespace %q: %s", ns, line))
	}
	if !ofIPTables.MatchString(ruleset) {
		return state
	}
	for n, out := range w.run(ns, filters) {
		for _, line := range filterLines(out) {
			state = append(state, fmt.Sprintf("namespace %q: %s %s", ns, filters[n].program, line))
		}
	}
	return state
}

// permanent returns the entries of a list that do not come from traffic, without a bridge's own address.
func permanent(v any) any {
	all, _ := v.([]any)
	return slices.DeleteFunc(all, func(v any) bool {
		entry, _ := v.(map[string]any)
		return entry["state"] != "permanent" || entry["master"] == entry["ifname"]
	})
}

// ofIPTables matches the head of a table of iptables, as nft lists it.
var ofIPTables = regexp.MustCompile(`(?m)^table ip6? (filter|nat|mangle|raw) `)

// tableLines returns the lines of the output of nft with their tables and chains, without the tables of iptables.
func tableLines(out string) (lines []string) {
	table, chain := "", ""
	number := 0
	for line := range strings.Lines(out) {
		switch {
		case strings.HasPrefix(line, "table "):
			table, chain, number = strings.TrimSpace(line), "", 0
		case !strings.HasPrefix(line, "\t\t"):
			chain, number = strings.TrimSpace(line), 0
		}
		number++
		if table != "" && !ofIPTables.MatchString(table) {
			lines = append(lines, fmt.Sprintf("%s: %s: %d: %s", table, chain, number, strings.TrimSpace(line)))
		}
	}
	return lines
}

var counts = regexp.MustCompile(`\[\d+:\d+\]`)

// filterLines returns the lines of the output of iptables-save with their tables, rules with their places. Chains of
// the kernel that accept everything, and their tables, are as good as none.
func filterLines(out string) (lines []string) {
	table, numbers := "", map[string]int{}
	for line := range strings.Lines(out) {
		words := strings.Fields(counts.ReplaceAllString(line, ""))
		switch {
		case len(words) == 0 || words[0] == "#" || words[0] == "COMMIT":
			continue
		case strings.HasPrefix(line, "*"):
			table = words[0]
			continue
		case strings.HasPrefix(line, ":") && words[1] == "ACCEPT":
			continue
		case words[0] == "-A":
			numbers[table+words[1]]++
			words = append(words, fmt.Sprintf("(rule %d)", numbers[table+words[1]]))
		}
		lines = append(lines, table+" "+strings.Join(words, " "))
	}
	return lines
}

// automatic matches lines about what the kernel adds by itself. For IPv6, some of it after a check of
// the address: link-local and multicast addresses, and routes to addresses of this host. And the
// address of a loopback that has been up, which stays.
var automatic = regexp.MustCompile(`local=127\.0\.0\.1 |fe80::|ff00::/8|\bff02:|33:33:|01:00:5e:|dst=[0-9a-f:]+ .*table=local type=(local|anycast)`)

// run runs commands in a namespace and returns their outputs.
func (w *walked) run(ns string, commands []command) (outputs []string) {
	if ns == "" {
		ns = "own"
	}
	must(w, kernel.OnOwnThread(func() error {
		f, err := os.Open(w.linux.Path(ns))
		if err != nil {
			return err
		}
		defer f.Close()
		if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		for _, c := range commands {
			args := strings.Fields(c.program)
			cmd := exec.CommandContext(w.Context(), args[0], args[1:]...)
			cmd.Stdin = strings.NewReader(c.input)
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s: %w", c.program, err)
			}
			outputs = append(outputs, string(out))
		}
		return nil
	}))
	return outputs
}

// passing are fields that the kernel chooses or that change by themselves.
var passing = regexp.MustCompile(`^(ifindex|link_index|link[Nn]et[Nn]s[Ii]d|viaIfIndex|qdisc|config_pending|link_netnsid|operstate|promiscuity|allmulti|[gt]so_\w+|gro_\w+|handle|\w+_timer|(bridge|root)_id|designated_\w+|root_(port|path_cost)|topology_change(_detected)?|state|packets|bytes|metainfo|stats(64)?|tentative)$`)

// portNumber matches the number of a port of a bridge, which follows from the order in which ports joined.
var portNumber = regexp.MustCompile(` info_slave_data (id|no)$`)

// flat returns the fields of a JSON value: a line for each object that contains no others, and for
// each field of other objects.
func flat(lines []string, path string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		var line strings.Builder
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch field := v[name].(type) {
			case map[string]any:
				lines = flat(lines, path+" "+name, field)
			case []any:
				if len(field) > 0 && title(field[0]) == "" { // of words
					fmt.Fprintf(&line, " %s=%s", name, strings.ReplaceAll(fmt.Sprint(field), " ", ","))
				} else {
					lines = flat(lines, path+" "+name, field)
				}
			default:
				if !passing.MatchString(name) && !portNumber.MatchString(path+" "+name) {
					fmt.Fprintf(&line, " %s=%v", name, field)
				}
			}
		}
		if len(v) < 20 {
			return append(lines, path+line.String())
		}
		for field := range strings.SplitSeq(line.String()[1:], " ") {
			lines = append(lines, path+" "+field)
		}
		return lines
	case []any:
		for n, one := range v {
			where := title(one)
			if where == "" {
				where = fmt.Sprintf(" %d", n)
			}
			lines = flat(lines, path+where, one)
		}
		return lines
	}
	return append(lines, fmt.Sprintf("%s %v", path, v))
}

// title is what identifies an element of a list.
func title(v any) string {
	m, _ := v.(map[string]any)
	for _, name := range []string{"ifname", "dst", "table", "gateway", "dev", "family", "local", "priority", "id", "vlan", "mac", "name", "chain"} {
		if s, ok := m[name]; ok {
			return fmt.Sprintf(" %v", s)
		}
	}
	return ""
}

var (
	anyMAC    = regexp.MustCompile(`\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b`)
	remaining = regexp.MustCompile(`(expires)=[-+.\de]+|(life_time)=\d{1,6}\b`)
	peerIndex = regexp.MustCompile(`\bif\d+\b`)
)

// addressLabel matches the label of an IPv4 address: the kernel numbers the addresses of a link that is renamed.
var addressLabel = regexp.MustCompile(` label=\S+`)

// carrier removes the flags of a carrier: whether a bridge without ports that are up has one depends on the order of events.
var carrier = strings.NewReplacer("NO-CARRIER,", "", ",LOWER_UP", "", " flags=[linkdown]", "", " flags=[]", "", "linkdown,", "", ",linkdown", "")

// withoutChosen hides what the kernel or the agent chose, and times.
func withoutChosen(line string) string {
	line = addressLabel.ReplaceAllString(carrier.Replace(line), "")
	line = anyMAC.ReplaceAllStringFunc(line, func(s string) string {
		if strings.HasPrefix(s, chosenMAC) {
			return s
		}
		return "MAC"
	})
	if strings.HasSuffix(line, "addr_gen_mode=random") || strings.HasSuffix(line, "addr_gen_mode = 3") {
		line = strings.NewReplacer("=random", "=eui64", " = 3", " = 0").Replace(line) // TUN devices, if the kernel runs late
	}
	return remaining.ReplaceAllString(peerIndex.ReplaceAllString(line, "PEER"), "$1$2=LIMITED")
}

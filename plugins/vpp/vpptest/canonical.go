package vpptest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// Canonical is the state of a simulator without what depends on the order of creation:
// interfaces and bridge domains are called by their tags, one line for each object.
// Interfaces without a tag, but local0, are listed as such. Those that VPP hides, to use
// them for the next tunnel of their kind, are left out.
func Canonical(dump string) []string {
	names, domains, tables := map[string]string{}, map[string]string{}, map[string]string{}
	for line := range strings.SplitSeq(dump, "\n") {
		words := strings.Fields(line)
		tag := tagIn.FindStringSubmatch(line)
		switch {
		case len(words) < 3 || strings.HasPrefix(line, " "):
		case words[0] == "interface" && tag != nil:
			names[words[1]] = tag[1]
		case words[0] == "interface":
			names[words[1]] = "untagged-" + strings.TrimRight(words[2], "0123456789")
		case words[0] == "bridge-domain" && tag != nil:
			domains[words[1]] = tag[1]
		}
		if m := classifier.FindStringSubmatch(line); m != nil {
			tables[m[1]] = m[2]
		}
	}
	var out []string
	var parts []string
	object := func() { // members of a bridge domain are in the order in which they joined
		slices.Sort(parts)
		if len(out) > 0 && len(parts) > 0 {
			out[len(out)-1] += ";" + strings.Join(parts, ";")
		}
		parts = nil
	}
	hidden := false
	for line := range strings.SplitSeq(dump, "\n") {
		if !strings.HasPrefix(line, " ") {
			hidden = strings.HasPrefix(line, "interface ") && strings.Contains(line, " hidden")
		}
		if hidden {
			continue
		}
		line = renamedTables(renamed(line, names, domains), tables)
		switch {
		case line == "":
		case strings.HasPrefix(line, " "):
			parts = append(parts, line)
		default:
			object()
			out = append(out, line)
		}
	}
	object()
	slices.Sort(out)
	return out
}

var (
	tagIn       = regexp.MustCompile(` tag "([^"]*)"`)
	internal    = regexp.MustCompile(`^interface (\d+) \S+ `)
	madeUpMAC   = regexp.MustCompile(` mac [0-9a-f:]+`)
	ofInterface = regexp.MustCompile(`(( to| on| member| if| of| from| interface|^lcp| tunnel| via|^bfd echo source|\[if) |\{SwIfIndex:|\} )(\d+)( |$|\]|:)`)
	labelPath   = regexp.MustCompile(`^(mpls route .* to )(\d+ )`)                                                                          // the number is of a kind of payload
	localSID    = regexp.MustCompile(`^(sr localsid .* (?:SR_BEHAVIOR_API_(?:X|DX\d)|SrBehavior\(\d+\)) .*) argument (\d+ )(.*) incoming `) // interfaces
	vrrpGroup   = regexp.MustCompile(`^(ip. vrrp .*)\[(.*)\]$`)                                                                             // whose addresses are a set
	natReceives = regexp.MustCompile(`^(nat44-.. receives .*) on .*`)                                                                       // the interface that came last
	domainOf    = regexp.MustCompile(`^bridge-domain (\d+)`)
	fibDomain   = regexp.MustCompile(`^(l2fib.* in) (\d+)`)
	classifier  = regexp.MustCompile(`^classifier table (\d+) (mask \S+)`)
	ofTable     = regexp.MustCompile(`( table| next) (\d+)( |$)`)
	memifSocket = regexp.MustCompile(`^memif socket \d+`)
)

func renamed(line string, names, domains map[string]string) string {
	if m := internal.FindStringSubmatch(line); m != nil {
		line = "interface " + names[m[1]] + " " + line[len(m[0]):]
	}
	line = madeUpMAC.ReplaceAllString(line, "")
	if strings.HasPrefix(line, "l2fib ") && strings.HasSuffix(line, " bvi") { // its MAC address
		line = "l2fib" + line[strings.Index(line, " in "):]
	}
	if memifSocket.MatchString(line) {
		return memifSocket.ReplaceAllString(line, "memif socket")
	}
	line = domainOf.ReplaceAllStringFunc(line, func(s string) string { return "bridge-domain " + domains[strings.Fields(s)[1]] })
	if m := fibDomain.FindStringSubmatch(line); m != nil {
		line = m[1] + " " + domains[m[2]] + line[len(m[0]):]
	}
	named := func(s string) string {
		m := ofInterface.FindStringSubmatch(s)
		if name, known := names[m[3]]; known {
			return m[1] + name + m[4]
		}
		return s
	}
	line = labelPath.ReplaceAllString(line, "${1}payload $2")
	line = localSID.ReplaceAllString(line, "$1 to $2$3 from ")
	line = natReceives.ReplaceAllString(line, "$1")
	if m := vrrpGroup.FindStringSubmatch(line); m != nil {
		line = m[1] + fmt.Sprint(slices.Sorted(slices.Values(strings.Fields(m[2]))))
	}
	for range 2 { // matches that follow each other share a blank
		line = ofInterface.ReplaceAllStringFunc(line, named)
	}
	return line
}

// renamedTables calls classifier tables by their masks. The next of a session is no table.
func renamedTables(line string, tables map[string]string) string {
	if !strings.HasPrefix(line, "classifier ") {
		return line
	}
	return ofTable.ReplaceAllStringFunc(line, func(s string) string {
		m := ofTable.FindStringSubmatch(s)
		if name, known := tables[m[2]]; known && (m[1] == " table" || !strings.Contains(line, " match ")) {
			return m[1] + " " + name + m[3]
		}
		return s
	})
}

// Difference compares two canonical states (-want +got); empty: they are the same.
func Difference(got, want []string) string {
	return cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got)))
}

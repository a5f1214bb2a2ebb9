package vppsim_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"go.fd.io/govpp/api"
)

var update = flag.Bool("update", false, "rewrite the expected answers in testdata with what the simulator says")

// A script is a text of requests, each followed by the answers it must get:
//
//	# a comment
//	> create_loopback {"mac_address":"02:00:00:00:00:01"}
//	{"sw_if_index":1}
//
// Requests and answers are JSON, zero values left out. Next hops are written as
// addresses. Events follow the answers of the request that was being made when they
// came. Values that a VPP is free to choose are masked.
//
// What holds on some releases of VPP only begins with their range; either
// end may be missing:
//
//	[..25.06] {"table_id":1}
//	[25.10..] {"table_id":7}
//
// Scripts run against the simulator of every release and, in the conformance test,
// against a VPP.

// someReleases is a line that holds on some releases only.
var someReleases = regexp.MustCompile(`^\[(\d\d\.\d\d)?\.\.(\d\d\.\d\d)?\] (.*)$`)

// forRelease is a script as it is for one release, such as "25.10".
func forRelease(script, release string) string {
	var kept []string
	for _, line := range strings.Split(script, "\n") {
		if parts := someReleases.FindStringSubmatch(line); parts != nil {
			since, until := parts[1], parts[2]
			if since != "" && release < since || until != "" && release > until {
				continue
			}
			line = parts[3]
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// runScript runs a script and returns it with the answers it got.
func runScript(t *testing.T, c *client, script string) string {
	t.Helper()
	out, err := tryScript(t, c, script)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tryScript is runScript up to the request that the server did not survive.
func tryScript(t *testing.T, c *client, script string) (string, error) {
	t.Helper()
	var out strings.Builder
	lines := bufio.NewScanner(strings.NewReader(script))
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "> "):
			answers, err := runRequest(t, c, strings.TrimPrefix(line, "> "))
			if err != nil {
				return out.String(), fmt.Errorf("%s: %w", line, err)
			}
			fmt.Fprintln(&out, line)
			for _, answer := range answers {
				fmt.Fprintln(&out, answer)
			}
		case line == "", strings.HasPrefix(line, "#"):
			fmt.Fprintln(&out, line)
		}
	}
	return out.String(), nil
}

func runRequest(t *testing.T, c *client, request string) ([]string, error) {
	t.Helper()
	name, fields, _ := strings.Cut(request, " ")
	req := newRequest(t, name)
	if fields != "" {
		decoder := json.NewDecoder(strings.NewReader(expandNextHops(fields)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(req); err != nil {
			t.Fatalf("%s: %v", request, err)
		}
	}
	setCounts(reflect.ValueOf(req).Elem())
	var answers []string
	got, err := c.tryExchange(req)
	if err != nil {
		return nil, err
	}
	for _, m := range got {
		answers = append(answers, render(t, m))
	}
	if _, err := c.tryExchange(newRequest(t, "control_ping")); err != nil { // lets events arrive
		return nil, err
	}
	for _, event := range c.events {
		answers = append(answers, "event "+event.GetMessageName()+" "+render(t, event))
	}
	c.events = nil
	return answers, nil
}

func newRequest(t *testing.T, name string) message {
	t.Helper()
	for _, m := range api.GetRegisteredMessages()["go.fd.io/govpp/binapi"] {
		if m.GetMessageName() == name {
			return reflect.New(reflect.TypeOf(m).Elem()).Interface().(message)
		}
	}
	t.Fatalf("no message %q", name)
	return nil
}

// setCounts fills in the count fields of lists, which JSON leaves out.
func setCounts(v reflect.Value) {
	for at := range v.NumField() {
		if f := v.Field(at); f.Kind() == reflect.Struct {
			setCounts(f)
		}
	}
	if paths, n := v.FieldByName("Paths"), v.FieldByName("NPaths"); paths.IsValid() && n.IsValid() {
		n.SetUint(uint64(paths.Len()))
	}
}

var (
	nextHopText  = regexp.MustCompile(`"nh":"([^"]*)"`)
	nextHopUnion = regexp.MustCompile(`"nh":\{"address":\{"XXX_UnionData":\[([0-9,]*)\]\}\}`)
	emptyLabels  = regexp.MustCompile(`,"label_stack":\[(\{\},?)*\]`)
	scanTime     = regexp.MustCompile(`Last scan time: [0-9.e+-]+sec`)
	runtimePath  = regexp.MustCompile(`"(socket_filename|pathname)":"[^"]*/(memif|punt).sock"`)
	clockState   = regexp.MustCompile(`,"(single_rate|scale|cir_tokens_per_period|pir_tokens_per_period|current_limit|current_bucket|extended_limit|extended_bucket|last_radv_time|last_multicast_time|next_multicast_time|valid_lifetime_expires|pref_lifetime_expires)":[^,}]+`)
	freeChoice   = regexp.MustCompile(`"(stats_index|age|vpe_pid|vpe_system_time)":[0-9.e+-]+`)
)

func expandNextHops(fields string) string {
	return nextHopText.ReplaceAllStringFunc(fields, func(s string) string {
		addr := netip.MustParseAddr(nextHopText.FindStringSubmatch(s)[1])
		var bytes []string
		for _, b := range addr.AsSlice() {
			bytes = append(bytes, strconv.Itoa(int(b)))
		}
		return `"nh":{"address":{"XXX_UnionData":[` + strings.Join(bytes, ",") + `]}}`
	})
}

func render(t *testing.T, m message) string {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	text = emptyLabels.ReplaceAll(text, nil)
	text = clockState.ReplaceAll(text, nil) // from the clock of the processor
	text = freeChoice.ReplaceAll(text, []byte(`"$1":"*"`))
	text = scanTime.ReplaceAll(text, []byte("Last scan time: *sec"))
	text = runtimePath.ReplaceAll(text, []byte(`"$1":"*/$2.sock"`))
	return string(nextHopUnion.ReplaceAllFunc(text, shortenNextHop))
}

// shortenNextHop writes a next hop as an address, IPv4 if it fits; none at all as "".
func shortenNextHop(union []byte) []byte {
	var raw [16]byte
	for at, number := range bytes.Split(nextHopUnion.FindSubmatch(union)[1], []byte(",")) {
		b, _ := strconv.Atoi(string(number))
		raw[at] = byte(b)
	}
	addr := netip.AddrFrom16(raw)
	switch {
	case raw == [16]byte{}:
		return []byte(`"nh":""`)
	case [12]byte(raw[4:]) == [12]byte{}:
		addr = netip.AddrFrom4([4]byte(raw[:4]))
	}
	return []byte(`"nh":"` + addr.String() + `"`)
}

func scripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return files
}

func startSimulator(t testing.TB, opts vppsim.Options) (*vppsim.VPP, string) {
	t.Helper()
	vpp := vppsim.New(opts)
	socket := filepath.Join(t.TempDir(), "api.sock")
	if err := vpp.ListenUnix(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := vpp.Close(); err != nil {
			t.Error(err)
		}
	})
	return vpp, socket
}

// hostInterface is the interface of the kernel in the scripts. Deleting it from
// VPP takes it down, so it is none that anybody else uses.
const hostInterface = "simhost"

// bindings is the release that the simulator is without options.
const bindings = "25.10"

// simulated are the options of a simulator of a release.
func simulated(t *testing.T, release string) vppsim.Options {
	t.Helper()
	table, err := binding.Release(release)
	if err != nil {
		t.Fatal(err)
	}
	return vppsim.Options{Release: table, Version: release + "-simulated"}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	for _, release := range binding.Releases() {
		for _, file := range scripts(t) {
			t.Run(release+"/"+filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				testScript(t, release, file)
			})
		}
	}
}

func testScript(t *testing.T, release, file string) {
	t.Helper()
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	opts := simulated(t, release)
	opts.HostInterface = func(name string) bool { return name == hostInterface }
	opts.PCIDevice = func(uint32) bool { return false }
	_, socket := startSimulator(t, opts)
	want := forRelease(string(script), release)
	got := runScript(t, dial(t, socket), want)
	switch {
	case got == want:
	case *update && release == bindings && want == string(script):
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	case *update && release == bindings:
		t.Errorf("the script has lines for some releases only: edit it by hand:\n%s", diff(want, got))
	default:
		t.Errorf("answers differ:\n%s", diff(want, got))
	}
}

// diff shows the lines around the first difference and all that follow in pairs.
func diff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out strings.Builder
	for at := range max(len(w), len(g)) {
		var a, b string
		if at < len(w) {
			a = w[at]
		}
		if at < len(g) {
			b = g[at]
		}
		if a != b {
			fmt.Fprintf(&out, "line %d\n  want %s\n  got  %s\n", at+1, a, b)
		}
	}
	return out.String()
}

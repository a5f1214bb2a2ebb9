package binding

import (
	"errors"
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	_ "go.fd.io/govpp/binapi/det44"
	_ "go.fd.io/govpp/binapi/ip"
	_ "go.fd.io/govpp/binapi/ipfix_export"
	"go.fd.io/govpp/binapi/tapv2"
	_ "go.fd.io/govpp/binapi/vmxnet3"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func tapVariants() []Variant[string] {
	return []Variant[string]{
		{Needs: Messages((*tapv2.TapCreateV3)(nil), (*tapv2.TapCreateV3Reply)(nil)), Do: "v3"},
		{Needs: Messages((*tapv2.TapCreateV2)(nil)), Do: "v2"},
	}
}

func table(t *testing.T, release string) Table {
	t.Helper()
	m, err := Release(release)
	if err != nil {
		t.Fatal(err)
	}
	return Table(m)
}

func TestPickTakesTheFirstUsableVariant(t *testing.T) {
	t.Parallel()
	vpp := table(t, "25.10")
	if got, err := Pick(vpp, "create tap", tapVariants()...); err != nil || got != "v3" {
		t.Errorf("%q, %v; want v3", got, err)
	}
	delete(vpp, "tap_create_v3_reply") // part of a variant is not enough
	if got, err := Pick(vpp, "create tap", tapVariants()...); err != nil || got != "v2" {
		t.Errorf("%q, %v; want v2", got, err)
	}
	vpp["tap_create_v2"] = "00000000" // another CRC is another message
	delete(vpp, "tap_create_v3")
	_, err := Pick(vpp, "create tap", tapVariants()...)
	var unsupported *UnsupportedError
	if !errors.Is(err, ErrUnsupported) || !errors.As(err, &unsupported) {
		t.Fatalf("error %v, want ErrUnsupported", err)
	}
	const want = "create tap: not supported by the connected VPP (needs one of: " +
		"tap_create_v3_3f3fd1df+tap_create_v3_reply_5383d31f, tap_create_v2_2d0d6570)"
	if err.Error() != want {
		t.Errorf("error %q\n want %q", err, want)
	}
}

// named is a VPP that knows messages by name, with any CRC.
type named map[string]bool

func (named) Has(api.Message) bool       { return false }
func (n named) HasName(name string) bool { return n[name] }

// A plugin of VPP counts as not loaded if VPP knows none of its messages.
func TestPluginThatIsNotLoaded(t *testing.T) {
	t.Parallel()
	for vpp, want := range map[string]string{
		"":              "tap: VPP has not loaded the plugin tap-x (in its startup.conf: plugins { plugin tap_x_plugin.so { enable } })",
		"tap_create_v2": "tap (plugin tap-x of VPP): not supported by the connected VPP (needs one of: ",
	} {
		c := named{vpp: true}
		_, err := Pick(c, "tap (plugin tap-x of VPP)", tapVariants()...)
		if err = InPlugin(c, "tap-x", err, tapVariants()...); !errors.Is(err, ErrUnsupported) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %q, want %q", vpp, err, want)
		}
	}
}

// down is a connection without VPP.
type down struct{ err error }

func (down) Has(api.Message) bool { return false }
func (d down) Err() error         { return d.err }

func TestPickTellsNoVPPFromAnOldVPP(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	_, err := Pick(down{gone}, "create tap", tapVariants()...)
	if !errors.Is(err, gone) || errors.Is(err, ErrUnsupported) {
		t.Errorf("error %v, want the connection's", err)
	}
	if err := Require(down{}, "create tap", (*tapv2.TapCreateV2)(nil)); !errors.Is(err, ErrUnsupported) {
		t.Errorf("connected: error %v, want ErrUnsupported", err)
	}
}

// TestReleaseOfTheBindings compares the CRCs of a release, computed from its API files,
// with the CRCs of govpp's bindings of the same release.
func TestReleaseOfTheBindings(t *testing.T) {
	t.Parallel()
	vpp := table(t, "25.10")
	n := 0
	for _, bindings := range api.GetRegisteredMessages() {
		for _, msg := range bindings {
			n++
			if !vpp.Has(msg) {
				t.Errorf("the bindings have %s, the table has CRC %q", NameCRC(msg), vpp[msg.GetMessageName()])
			}
		}
	}
	if n < 100 {
		t.Errorf("compared %d messages: expected more", n)
	}
}

func TestReleaseTables(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]map[string]string{
		"22.10": {"dev_create_port_if": "", "cnat_translation_update": "cd5aedf5", "get_api_json": ""},
		"24.10": {"dev_create_port_if": "1eb00d01", "cnat_translation_update": "f8d40bc5"},
		"25.02": {"dev_create_port_if": "dbdf06f3"},
		"26.06": {"avf_create": "", "cnat_session_details": "7a78bf3f", "control_ping": "51077d14"},
	} {
		vpp := table(t, release)
		for name, crc := range want {
			if vpp[name] != crc {
				t.Errorf("%s in %s: CRC %q, want %q", name, release, vpp[name], crc)
			}
		}
	}
	if _, err := Release("19.08"); err == nil || !strings.Contains(err.Error(), "22.10") {
		t.Errorf("unknown release: error %v does not list the known ones", err)
	}
}

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"25.10-release": "25.10", "v26.02-rc1~3-gdeadbeef": "26.02", "25.10-simulated": "25.10",
		"22.10": "22.10", " 23.06.1 ": "23.06", "24.2": "24.02",
		"": "", "25": "", "release": "", "25.x": "", "2025.10": "", "25.13": "", "25.0": "", "-1.10": "",
	} {
		got, err := ParseVersion(in)
		if want == "" {
			if err == nil {
				t.Errorf("%q: %v, want an error", in, got)
			}
		} else if err != nil || got.String() != want {
			t.Errorf("%q: %v, %v; want %s", in, got, err, want)
		}
	}
}

func TestQuirks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		release, message string
		kind             Quirk
		detail           string
		holds            bool
	}{
		{"23.02", "nat44_ed_add_del_vrf_table", OwnReplyID, "", true},
		{"23.06", "nat44_ed_add_del_vrf_table", OwnReplyID, "", false},
		{"24.02", "sr_policy_add_v2", WrongReplyID, "sr_policy_add_reply", true},
		{"24.06", "sr_policy_add_v2", WrongReplyID, "", false},
		{"23.02", "sr_policy_add_v2", WrongReplyID, "", false},
		{"25.06", "proxy_arp_details", TableIndex, "proxy.table_id", true},
		{"25.10", "proxy_arp_details", TableIndex, "", false},
		{"26.06", "policer_input_v2", WrongReplyID, "policer_input_reply", true},
		{"26.06", "sr_localsids_details", UnsetFields, "vlan_index", true},
		{"26.02", "sr_localsids_details", UnsetFields, "", false},
		{"22.10", "acl_stats_intf_counters_enable", WrongReplyID, "acl_del_reply", true},
		{"25.10", "sw_interface_details.interface_dev_type(tap)", StringValue, "virtio", true},
		{"26.02", "sw_interface_details.interface_dev_type(tap)", StringValue, "tap", true},
	} {
		v, err := ParseVersion(c.release)
		if err != nil {
			t.Fatal(err)
		}
		if detail, ok := QuirksOf(v).Find(c.message, c.kind); ok != c.holds || detail != c.detail {
			t.Errorf("%s on %s: %q, %v; want %q, %v", c.message, c.release, detail, ok, c.detail, c.holds)
		}
	}
	old, recent := Version{24, 10}, Version{25, 2}
	if QuirksOf(old).HasEnumValue("tap_flags", "CONSISTENT_QP") || !QuirksOf(recent).HasEnumValue("tap_flags", "CONSISTENT_QP") {
		t.Error("tap_flags CONSISTENT_QP: want it from 25.02 on")
	}
}

// TestFactsNameRealMessages guards the table against typing errors.
func TestFactsNameRealMessages(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, bindings := range api.GetRegisteredMessages() {
		for _, msg := range bindings {
			known[msg.GetMessageName()] = true
		}
	}
	for _, release := range Releases() {
		for name := range table(t, release) {
			known[name] = true
		}
	}
	for _, f := range Facts() {
		message, _, _ := strings.Cut(f.Message, ".")
		if f.Quirk != EnumValue && !known[message] {
			t.Errorf("%s: no release has it", f.Message)
		}
		if f.Quirk == WrongReplyID && !known[f.Detail] {
			t.Errorf("%s: no release has %s", f.Message, f.Detail)
		}
		if !strings.HasPrefix(f.Source, "src/") {
			t.Errorf("%s: source %q: expected a file below src of VPP", f.Message, f.Source)
		}
		for _, bound := range []string{f.Since, f.Until} {
			if _, err := ParseVersion(bound); bound != "" && err != nil {
				t.Errorf("%s: %v", f.Message, err)
			}
		}
	}
}

package govppmux

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/memif"
	"go.fd.io/govpp/binapi/tapv2"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
)

// TestEveryRelease connects to a simulated VPP of every known release: the
// core set suffices, the connection knows the messages of the release and no
// others, and variants are picked by them.
func TestEveryRelease(t *testing.T) {
	t.Parallel()
	for _, release := range binding.Releases() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			table, err := binding.Release(release)
			if err != nil {
				t.Fatal(err)
			}
			vpp := vppsim.New(vppsim.Options{Release: table, Version: release + "-simulated"})
			path := socket(t)
			if err := vpp.ListenUnix(path); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = vpp.Close() })
			s := session(t, start(t, path, nil), 0)
			version, err := binding.ParseVersion(s.Version.Version)
			if err != nil || version.String() != release {
				t.Errorf("version %v, %v; want %s", version, err, release)
			}
			for _, bindings := range api.GetRegisteredMessages() {
				for _, m := range bindings {
					if binding.Table(table).Has(m) != s.Conn.Has(m) {
						t.Errorf("%s: the connection says %v", binding.NameCRC(m), s.Conn.Has(m))
					}
				}
			}
			got, err := binding.Pick(s.Conn, "create memif",
				binding.Variant[int]{Needs: binding.Messages((*memif.MemifCreateV2)(nil)), Do: 2},
				binding.Variant[int]{Needs: binding.Messages((*memif.MemifCreate)(nil)), Do: 1})
			want := 2
			if version.Compare(binding.Version{Year: 23, Month: 6}) < 0 {
				want = 1
			}
			if err != nil || got != want {
				t.Errorf("create memif: variant %d, %v; want %d", got, err, want)
			}
		})
	}
}

// TestStrictCompat: a VPP that has no usable variant of an operation is refused, and
// the reason names the operation. Variants that another one replaces may be missing.
func TestStrictCompat(t *testing.T) {
	t.Parallel()
	path := socket(t)
	vpp := simulator(t, path)
	for _, name := range []string{"memif_create", "tap_create_v2"} {
		if err := vpp.Forget(name); err != nil {
			t.Fatal(err)
		}
	}
	cfg := DefaultConfig()
	cfg.BinAPISocketPath, cfg.RetryConnectTimeout, cfg.HealthCheckProbeInterval = path, 20*time.Millisecond, 0
	cfg.StrictCompat, cfg.ReplyTimeout = true, time.Minute
	p := NewPlugin(UseConf(cfg))
	p.Offer(
		binding.Need("interface MEMIF", "memif", (*memif.MemifCreateV2)(nil)).Or((*memif.MemifCreate)(nil)),
		binding.Need("interface TAP", "tap", (*tapv2.TapCreateV3)(nil)).Or((*tapv2.TapCreateV2)(nil)),
	)
	agenttest.Start(t, p)
	first := session(t, p, 0)

	for _, name := range []string{"memif_create_v2", "cli_inband"} {
		if err := vpp.Forget(name); err != nil {
			t.Fatal(err)
		}
	}
	vpp.Disconnect()
	text := refusal(t, p)
	for _, want := range []string{
		"strict-compat: ", "VPP 25.10-simulated lacks 2 of 3 operations: ",
		"interface MEMIF (plugin memif of VPP) needs one of memif_create_v2_", ", memif_create_", "command line needs cli_inband_",
		"strict-compat: false in govpp.conf",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the reason is %q, expected %q", text, want)
		}
	}
	if strings.Contains(text, "TAP") {
		t.Errorf("the reason is %q, but TAP has a usable variant", text)
	}

	vpp.Heal()
	if again := session(t, p, first.Epoch); !again.Up {
		t.Errorf("a VPP that has all: %+v", again)
	}
}

// refusal waits until VPP is refused and returns the reason.
func refusal(t *testing.T, p *Plugin) string {
	t.Helper()
	ctx := patient(t)
	for {
		s, changed := p.state.get()
		if errors.Is(s.Err, binding.ErrUnsupported) {
			return s.Err.Error()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("VPP is not refused; the session is %+v", s)
		}
	}
}

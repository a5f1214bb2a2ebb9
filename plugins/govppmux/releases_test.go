package govppmux

import (
	"errors"
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/memif"

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

// TestStrictCompat: a VPP that lacks a message is refused, with its name; one that
// has all is not.
func TestStrictCompat(t *testing.T) {
	t.Parallel()
	strict := func(c *Config) { c.StrictCompat = true }
	path := socket(t)
	vpp := simulator(t, path)
	p := start(t, path, strict)
	first := session(t, p, 0)

	for _, name := range []string{"memif_create_v2", "tap_create_v3"} {
		if err := vpp.Forget(name); err != nil {
			t.Fatal(err)
		}
	}
	vpp.Disconnect()
	refused := func() bool { return errors.Is(p.Session().Err, binding.ErrUnsupported) }
	for !refused() { // first the connection ended, then the next attempt is refused
		_, changed := p.state.get()
		if refused() {
			break
		}
		select {
		case <-changed:
		case <-patient(t).Done():
			t.Fatalf("the session is %+v", p.Session())
		}
	}
	text := p.Session().Err.Error()
	for _, want := range []string{"strict-compat: ", "lacks 4 of ", "memif_create_v2_", "memif_create_v2_reply_", "tap_create_v3_"} {
		if !strings.Contains(text, want) {
			t.Errorf("the reason is %q, expected %q", text, want)
		}
	}

	vpp.Heal()
	if again := session(t, p, first.Epoch); !again.Up {
		t.Errorf("a VPP that has all: %+v", again)
	}
}

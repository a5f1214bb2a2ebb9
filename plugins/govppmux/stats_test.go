package govppmux

import "testing"

type localAPI string

func (l localAPI) Socket() string { return string(l) }

type localVPP struct{ localAPI }

func (localVPP) StatsSocket() string { return "/local/stats.sock" }

// The stats segment belongs to the VPP that the agent is connected to.
func TestStatsSocket(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		local LocalVPP
		want  string
	}{
		{nil, "/run/vpp/stats.sock"},
		{localAPI(""), "/run/vpp/stats.sock"},
		{localVPP{""}, "/run/vpp/stats.sock"},
		{localAPI("/local/api.sock"), ""},
		{localVPP{"/local/api.sock"}, "/local/stats.sock"},
	} {
		p := NewPlugin(UseDeps(func(d *Deps) { d.Local = c.local }))
		p.cfg = DefaultConfig()
		if got := p.StatsSocket(); got != c.want {
			t.Errorf("%#v: %q, want %q", c.local, got, c.want)
		}
	}
}

package vpptest_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
)

// With strict-compat the agent connects to a VPP that has a usable variant of every
// operation, and refuses one that has not, by the names of the operations.
// TestEveryRelease repeats this for each release, whose simulator has all of them; a
// real VPP may lack a plugin.
func TestStrictCompat(t *testing.T) {
	t.Parallel()
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		all, err := b.Mux.Abilities()
		if err != nil {
			t.Fatal(err)
		}
		b.Stop()
		var lacks []string
		for _, a := range all {
			switch {
			case a.Uses != "":
			case a.Plugin == "" || target.Sim != nil:
				t.Errorf("%s: VPP has no message for it: %v", a.Item, a.Missing)
			default:
				lacks = append(lacks, a.Lack())
			}
		}
		conf := govppmux.DefaultConfig()
		conf.BinAPISocketPath, conf.StrictCompat, conf.ReplyTimeout = target.Socket, true, 2*time.Minute
		strict := govppmux.NewPlugin(govppmux.UseConf(conf))
		strict.Offer(b.Mux.Capabilities()...)
		agenttest.Start(t, strict)
		sessions := make(chan govppmux.Session, 16)
		defer strict.OnSession(func(s govppmux.Session) { sessions <- s })()
		s := <-sessions
		for !s.Up && !errors.Is(s.Err, binding.ErrUnsupported) { // not tried to connect yet
			s = <-sessions
		}
		if s.Up != (len(lacks) == 0) {
			t.Errorf("connected: %v, %v; VPP lacks %q", s.Up, s.Err, lacks)
		}
		for _, lack := range lacks {
			if !strings.Contains(s.Err.Error(), lack) {
				t.Errorf("the reason is %q, expected %q", s.Err, lack)
			}
		}
	})
}

// abilities are asked for as agentctl does.
func abilities(t *testing.T, b *vpptest.Harness) []binding.Ability {
	t.Helper()
	w := httptest.NewRecorder()
	b.Mux.ServeCapabilities(w, httptest.NewRequestWithContext(t.Context(), "GET", "/vpp/capabilities", nil))
	var answer struct{ Items []binding.Ability }
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Items) == 0 {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return answer.Items
}

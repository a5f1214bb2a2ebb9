package orchestrator_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// Constraints of items together are reported for changed items only, with the line of the
// field, and never refuse a change.
func TestFindingsREST(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	w := start(t, nil, orchestrator.UseHTTP(s))
	w.waitSynced()
	findings := func(text string) (list []response.Finding) {
		t.Helper()
		var answer struct{ Findings []response.Finding }
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Findings
	}
	for _, list := range [][]response.Finding{
		findings(s.do("PUT", "/configuration", "vppConfig: {interfaces: [{name: z, enabled: true, ip_addresses: [10.0.0.1/24]}]}", 200)),
		findings(s.do("POST", "/configuration/validate", "vppConfig: {interfaces: [{name: other, enabled: true, ip_addresses: [10.0.1.1/24]}]}", 200)),
	} {
		if len(list) > 0 {
			t.Errorf("findings %+v", list)
		}
	}
	body := "vppConfig:\n  interfaces:\n  - name: a\n    enabled: true\n    ip_addresses:\n    - 10.0.0.2/24\n"
	plan := s.do("POST", "/scheduler/plan", body, 200)
	var sealed struct{ Plan json.RawMessage }
	if err := json.Unmarshal([]byte(plan), &sealed); err != nil {
		t.Fatal(err)
	}
	for what, list := range map[string][]response.Finding{
		"validate": findings(s.do("POST", "/configuration/validate", body, 200)),
		"plan":     findings(string(sealed.Plan)),
		"put":      findings(s.do("PUT", "/configuration", body, 200)),
	} {
		if len(list) != 1 {
			t.Errorf("%s: findings %+v, want one", what, list)
			continue
		}
		f := list[0]
		if f.Constraint != "address-overlap" || !f.Refused || f.Line != 6 || f.Column != 7 || f.Field != "ip_addresses[0]" ||
			f.Key != iface("a", 0).Key || f.Other != iface("z", 0).Key {
			t.Errorf("%s: finding %+v", what, f)
		}
	}
	renamed := findings(s.do("PUT", "/configuration", "data:\n- {key: config/vpp/v2/interfaces/x, value: {name: y}}\n- {key: config/vpp/v2/interfaces/u, value: {name: v}}\n", 200))
	if len(renamed) != 1 || renamed[0].Constraint != "other-key" || renamed[0].Key != iface("y", 0).Key || renamed[0].Line != 2 ||
		renamed[0].Text != "written as config/vpp/v2/interfaces/x; the key of its value is used (and 1 more)" {
		t.Errorf("items under other keys: %+v", renamed)
	}
	if list := findings(s.do("PUT", "/configuration", "vppConfig: {interfaces: [{name: b}]}", 200)); len(list) > 0 {
		t.Errorf("findings about other items: %+v", list)
	}
}

// A change names what it overrides, and the health how many items are overridden.
func TestOverrides(t *testing.T) {
	t.Parallel()
	dir, sb := t.TempDir(), kvstest.NewMockSB()
	file := filepath.Join(dir, "a.yaml")
	write(t, file, "vppConfig:\n  interfaces:\n  - {name: loop1, mtu: 1}\n  - {name: loop2}\n")
	s := server{http.NewServeMux(), t}
	health := newWitness(t)
	w := startFiles(t, sb, dir, orchestrator.UseHTTP(s), health.use())
	const change = "vppConfig: {interfaces: [{name: loop1, mtu: 2}, {name: loop3}]}"
	s.do("POST", "/scheduler/plan?limit=10", change, 200,
		`"Overridden": 1`, `"source": "filedb"`, `"location": "`+file+`:3"`)
	s.do("PUT", "/configuration?results=problems", change, 200,
		`"overridden": 1`, `"source": "filedb"`, `"location": "`+file+`:3"`)
	if again := s.do("POST", "/scheduler/plan?limit=10", change, 200); strings.Contains(again, "Overrid") {
		t.Errorf("the plan names what is overridden already: %s", again)
	}
	removal := s.do("POST", "/scheduler/plan?replace", "vppConfig: {interfaces: [{name: loop3}]}", 200)
	for _, want := range []string{`"Reason": "source filedb configures it, too"`, `"ItemCounts": {
      "~": 1
    }`} {
		if !strings.Contains(removal, want) {
			t.Errorf("the plan of a removal lacks %s: %s", want, removal)
		}
	}
	write(t, file, "vppConfig:\n  interfaces:\n  - {name: loop1, mtu: 3}\n  - {name: loop2, mtu: 3}\n")
	until(t, "the file is applied", func() bool { return w.mtu("loop2") == 3 })
	w.wantMTU("loop1", 2)
	if _, text := health.state(); !strings.Contains(text, "; 1 overridden by another source (agentctl sources)") {
		t.Errorf("health %q", text)
	}
	write(t, file, "{}\n") // nothing, explicitly
	until(t, "the items of the file are removed", func() bool { return w.mtu("loop2") == -1 })
	until(t, "nothing is overridden", func() bool {
		_, text := health.state()
		return !strings.Contains(text, "overridden")
	})
}

// A rollback does not remove an item of clients if another source's item would take effect.
func TestRollbackWithItemBelow(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	below := &fakeStore{name: "below"}
	w := start(t, nil, orchestrator.UseHTTP(s), orchestrator.UseWatchers(datasync.KeyValProtoWatcher(below)),
		orchestrator.UseConf(orchestrator.Config{InitialSyncTimeout: patience, SourcePriority: []string{"below", orchestrator.GRPC}}))
	<-below.resync()
	w.waitSynced()
	var at struct {
		SeqNum json.Number `json:"seq_num"`
	}
	plan := s.do("POST", "/scheduler/plan", "vppConfig: {interfaces: [{name: c, mtu: 1}]}", 200)
	fatal(t, json.Unmarshal([]byte(s.do("POST", "/scheduler/apply", plan, 200)), &at))
	w.push(orchestrator.GRPC, iface("a", 1))
	fatal(t, below.change(iface("a", 2)))
	s.do("POST", "/scheduler/rollback?to="+at.SeqNum.String(), "", 409, "not restored: 1 value: "+iface("a", 0).Key+
		": source below has an item for the key too, which would take effect; remove it there first")
	w.wantMTU("a", 1)
}

// A rollback that cannot restore a value is a failure that names the value and the source.
func TestRollbackOfOverriddenItems(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	above := &fakeStore{name: "above"}
	w := start(t, nil, orchestrator.UseHTTP(s), orchestrator.UseWatchers(datasync.KeyValProtoWatcher(above)),
		orchestrator.UseConf(orchestrator.Config{InitialSyncTimeout: patience, SourcePriority: []string{orchestrator.GRPC, "above"}}))
	<-above.resync()
	w.waitSynced()
	w.push(orchestrator.GRPC, iface("a", 1), iface("b", 1))
	var at struct {
		SeqNum json.Number `json:"seq_num"`
	}
	plan := s.do("POST", "/scheduler/plan", "vppConfig: {interfaces: [{name: c, mtu: 1}]}", 200)
	if err := json.Unmarshal([]byte(s.do("POST", "/scheduler/apply", plan, 200)), &at); err != nil {
		t.Fatal(err)
	}
	to := "/scheduler/rollback?to=" + at.SeqNum.String()
	if err := above.change(iface("a", 2)); err != nil {
		t.Fatal(err)
	}
	s.do("POST", to, "", 409, "not restored: 1 value: "+iface("a", 0).Key+": source above has a higher priority", `"left"`)
	w.wantMTU("a", 2)
	w.push(orchestrator.GRPC, iface("b", 2))
	s.do("POST", to, "", 409, "not restored: 1 value") // and the others are
	w.wantMTU("b", 1)
	if err := above.change(gone("a")); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("a", 1)
	s.do("POST", to, "", 200)
	if err := above.change(iface("d", 2)); err != nil { // a rollback would have to remove it
		t.Fatal(err)
	}
	s.do("POST", to, "", 409, "not restored: 1 value: "+iface("d", 0).Key+": source above configures it; remove it there")
}

package orchestrator_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// why is the reason in the explanation of an interface.
func (w *world) why(name string) string { return w.scheduler.Explain(iface(name, 0).Key).Reason }

func wantWhy(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%q does not contain %q", got, part)
		}
	}
}

const notConfigured = "not configured"

// What a file says that is no good is known to those who ask for the value.
func TestWhyOfWhatAFileHas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	write(t, file, "vppConfig:\n  interfaces:\n  - {name: loop1, mtu: 1}\n  - {name: loop2, mtu: -1}\n")
	w := startFiles(t, kvstest.NewMockSB(), dir)
	w.wantMTU("loop1", 1)
	wantWhy(t, w.why("loop2"), "filedb has an invalid value: ", file+":4:", "vppConfig.interfaces[1].mtu")
	if got := w.why("loop1") + w.why("loop3"); got != notConfigured {
		t.Errorf("got %q", got)
	}
	write(t, file, "vppConfig:\n  interfaces:\n  - {name: loop1, mtu: -2}\n  - {name: loop2, mtu: 2}\n")
	until(t, "the file is applied", func() bool { return w.mtu("loop2") == 2 })
	wantWhy(t, w.why("loop1"), file+":3:", "mtu", "its previous value stays in effect")
	if got := w.why("loop2"); got != "" {
		t.Errorf("got %q", got)
	}
}

// The same of a store that does not read its values itself.
func TestWhyOfWhatAStoreHas(t *testing.T) {
	t.Parallel()
	etcd := &fakeStore{name: "etcd"}
	w := start(t, nil, orchestrator.UseWatchers(etcd))
	bad := orchestrator.KeyVal{Key: iface("a", 0).Key, Val: iface("c", 7).Val, Location: kv.At("revision 7")}
	if err := <-etcd.resync(bad, iface("c", 1)); err != nil {
		t.Fatal(err)
	}
	wantWhy(t, w.why("a"), "etcd has an invalid value: revision 7: ", "has another value")
	if err := etcd.change(iface("a", 2)); err != nil || w.why("a") != "" {
		t.Errorf("%v, %q", err, w.why("a"))
	}
}

// Clients get the error at once; the rejected request is recorded until
// one is good.
func TestWhyOfWhatAClientSent(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	w := start(t, nil, orchestrator.UseHTTP(s))
	w.waitSynced()
	s.do("PUT", "/configuration", "vppConfig: {interfaces: [{name: a, mtu: 9100}, {name: b, mtu: 1}]}", 400)
	wantWhy(t, w.why("a"), "a request of a client (grpc) was rejected at ", "as a whole", "mtu: the largest is 9000")
	s.do("PUT", "/configuration", "vppConfig: {interfaces: [{name: a, mtu: 1}]}", 200)
	s.do("PUT", "/configuration", "vppConfig: {interfaces: [{name: a, mtu: 9100}]}", 400)
	if got := w.why("a"); got != "" { // the client knows, and what it asked for before is in effect
		t.Errorf("got %q", got)
	}
	s.do("PUT", "/configuration?replace", "{}", 200)
	if got := w.why("a"); got != notConfigured {
		t.Errorf("after a resync: %q", got)
	}
	for i := range 300 {
		w.NoteRefused("localclient", orchestrator.Rejected{Key: iface(fmt.Sprint(i), 0).Key, Err: errMTU}, orchestrator.Rejected{Err: errMTU})
	}
	if old, last := w.why("0"), w.why("299"); old != notConfigured || last == notConfigured {
		t.Errorf("of many the oldest are %q, the latest %q", old, last)
	}
}

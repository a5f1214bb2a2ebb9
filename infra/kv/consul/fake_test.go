package consul_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// fakeConsul replaces Consul if it is not installed. It implements the part of
// its HTTP API that connectors use (/v1/kv with recurse, index and wait;
// /v1/txn; /v1/session/create and renew), with its indexes, its errors and its limit of 512 KiB for a value.
// As in Consul, any change wakes waiting readers, also a change elsewhere.
type fakeConsul struct {
	// Direct is the address it listens on, Addr the address of the proxy in
	// front of it.
	Direct, Addr string
	// Proxy is in front of it.
	Proxy *kvtest.Proxy

	server *http.Server
	served chan struct{}

	mu      sync.Mutex
	entries map[string]fakePair
	index   uint64
	changed chan struct{} // closed by the next change
	paused  chan struct{} // closed when it continues; nil: it is not paused

	sessions int
	live     map[string]*fakeSession
}

type fakeSession struct {
	ttl   time.Duration
	timer *time.Timer
}

// fakePair is an entry in Consul's JSON format.
type fakePair struct {
	Key         string
	Value       []byte
	ModifyIndex uint64
	CreateIndex uint64
	Session     string `json:",omitempty"`
}

var _ kvtest.Server = (*fakeConsul)(nil)

const (
	fakeMaxValue = 512 << 10
	fakeMaxOps   = 64
)

// newFakeConsul starts a fake, which ends with the test. The output of the test
// says that it is a fake.
func newFakeConsul(tb testing.TB) *fakeConsul {
	tb.Helper()
	tb.Log("FAKE: this test runs against a fake of Consul, not against Consul itself")
	f := &fakeConsul{Direct: "127.0.0.1:" + kvtest.FreePort(tb), entries: map[string]fakePair{}, live: map[string]*fakeSession{}, index: 1, changed: make(chan struct{})}
	f.start(tb)
	f.Proxy = kvtest.NewProxy(tb, f.Direct)
	f.Addr = f.Proxy.Addr
	tb.Cleanup(f.stop)
	return f
}

func (f *fakeConsul) start(tb testing.TB) {
	tb.Helper()
	l, err := net.Listen("tcp", f.Direct)
	if err != nil {
		tb.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/kv/", f.read)
	mux.HandleFunc("PUT /v1/txn", f.transact)
	mux.HandleFunc("PUT /v1/session/create", f.session)
	mux.HandleFunc("PUT /v1/session/renew/{id}", f.renew)
	server, served := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}, make(chan struct{})
	f.server, f.served = server, served
	go func() {
		defer close(served) // stop waits for it
		_ = server.Serve(l)
	}()
}

func (f *fakeConsul) stop() {
	_ = f.server.Close()
	<-f.served
}

// Restart implements Server: connections break, the data are kept.
func (f *fakeConsul) Restart(tb testing.TB) {
	tb.Helper()
	f.stop()
	f.start(tb)
}

// Pause implements Server: requests wait.
func (f *fakeConsul) Pause(testing.TB) (resume func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	paused := make(chan struct{})
	f.paused = paused
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		close(paused)
		f.paused = nil
	}
}

// Partition implements Server.
func (f *fakeConsul) Partition(testing.TB) (heal func()) { return f.Proxy.Partition() }

// enter waits while the server is paused. If it returns true, the lock is
// held.
func (f *fakeConsul) enter(r *http.Request) bool {
	for {
		f.mu.Lock()
		paused := f.paused
		if paused == nil {
			return true
		}
		f.mu.Unlock()
		select {
		case <-paused:
		case <-r.Context().Done():
			return false
		}
	}
}

// read returns the entries below a prefix; with an index, when one has changed
// since or the timeout has expired.
func (f *fakeConsul) read(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	since, _ := strconv.ParseUint(query.Get("index"), 10, 64) // none is 0, as in Consul
	wait, err := time.ParseDuration(query.Get("wait"))
	if err != nil {
		wait = 5 * time.Minute
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	for up := false; ; {
		if !f.enter(r) {
			return
		}
		if since == 0 || f.index > since || since > f.index || up {
			break
		}
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-late.C:
			up = true
		case <-r.Context().Done():
			return
		}
	}
	found := f.below(strings.TrimPrefix(r.URL.Path, "/v1/kv/"))
	w.Header().Set("X-Consul-Index", strconv.FormatUint(f.index, 10))
	f.mu.Unlock()
	if len(found) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(found) // the client may have disconnected
}

// below returns the entries below a prefix, by key. The lock is held.
func (f *fakeConsul) below(prefix string) (found []fakePair) {
	for _, key := range slices.Sorted(maps.Keys(f.entries)) {
		if strings.HasPrefix(key, prefix) {
			found = append(found, f.entries[key])
		}
	}
	return found
}

// fakeVerb is an operation of a transaction.
type fakeVerb struct {
	Verb, Key string
	Value     []byte
	Index     uint64
	Session   string
}

// transact executes all operations or none.
func (f *fakeConsul) transact(w http.ResponseWriter, r *http.Request) {
	var ops []struct{ KV fakeVerb }
	if err := json.NewDecoder(r.Body).Decode(&ops); err != nil {
		http.Error(w, "Failed to parse body: "+err.Error(), http.StatusBadRequest)
		return
	}
	if len(ops) > fakeMaxOps {
		http.Error(w, fmt.Sprintf("Transaction contains too many operations (%d > %d)", len(ops), fakeMaxOps), http.StatusRequestEntityTooLarge)
		return
	}
	for _, op := range ops {
		if len(op.KV.Value) > fakeMaxValue {
			http.Error(w, fmt.Sprintf("Value for key %q is too large (%d > %d bytes)", op.KV.Key, len(op.KV.Value), fakeMaxValue), http.StatusRequestEntityTooLarge)
			return
		}
	}
	if !f.enter(r) {
		return
	}
	defer f.mu.Unlock()
	before := maps.Clone(f.entries)
	type result struct{ KV fakePair }
	type failure struct {
		OpIndex int
		What    string
	}
	answer := struct {
		Results []result
		Errors  []failure
	}{}
	wrote := false
	for i, op := range ops {
		pairs, err := f.do(op.KV)
		if err != nil {
			answer.Errors = append(answer.Errors, failure{i, err.Error()})
			continue
		}
		for _, p := range pairs {
			answer.Results = append(answer.Results, result{p})
		}
		wrote = wrote || !strings.HasPrefix(op.KV.Verb, "get")
	}
	if len(answer.Errors) > 0 {
		f.entries, answer.Results = before, nil
		w.WriteHeader(http.StatusConflict)
	} else if wrote {
		f.wake()
	}
	_ = json.NewEncoder(w).Encode(answer) // the client may have disconnected
}

// wake wakes waiting readers after a change. The lock is held.
func (f *fakeConsul) wake() {
	f.index++
	close(f.changed)
	f.changed = make(chan struct{})
}

// session returns a new session. Its entries are deleted after its TTL.
func (f *fakeConsul) session(w http.ResponseWriter, r *http.Request) {
	var of struct{ TTL, Behavior string }
	err := json.NewDecoder(r.Body).Decode(&of)
	ttl, terr := time.ParseDuration(of.TTL)
	if err != nil || terr != nil || of.Behavior != "delete" || ttl < 10*time.Second || ttl > 24*time.Hour {
		http.Error(w, fmt.Sprintf("Request decode failed: %+v", of), http.StatusBadRequest)
		return
	}
	if !f.enter(r) {
		return
	}
	defer f.mu.Unlock()
	f.sessions++
	id := fmt.Sprintf("session-%d", f.sessions)
	f.live[id] = &fakeSession{ttl, time.AfterFunc(ttl, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.live, id)
		maps.DeleteFunc(f.entries, func(_ string, p fakePair) bool { return p.Session == id })
		f.wake()
	})}
	_, _ = fmt.Fprintf(w, `{"ID": %q}`, id) // the client may have disconnected
}

// renew begins the TTL of a session again.
func (f *fakeConsul) renew(w http.ResponseWriter, r *http.Request) {
	if !f.enter(r) {
		return
	}
	defer f.mu.Unlock()
	s := f.live[r.PathValue("id")]
	if s == nil {
		http.Error(w, "Session id '"+r.PathValue("id")+"' not found", http.StatusNotFound)
		return
	}
	s.timer.Reset(s.ttl)
	_, _ = fmt.Fprintf(w, `[{"ID": %q}]`, r.PathValue("id")) // the client may have disconnected
}

// do executes one operation. Its writes have the next index. The lock is held.
func (f *fakeConsul) do(v fakeVerb) ([]fakePair, error) {
	now, exists := f.entries[v.Key]
	switch v.Verb {
	case "get":
		if !exists {
			return nil, fmt.Errorf("key %q doesn't exist", v.Key)
		}
		return []fakePair{now}, nil
	case "get-tree":
		return f.below(v.Key), nil
	case "delete-tree":
		maps.DeleteFunc(f.entries, func(key string, _ fakePair) bool { return strings.HasPrefix(key, v.Key) })
		return nil, nil
	case "delete-cas", "cas":
		if now.ModifyIndex != v.Index { // 0: there is no entry
			return nil, fmt.Errorf("failed to %s key %q, index is stale", v.Verb, v.Key)
		}
	case "lock":
		if now.Session != "" && now.Session != v.Session {
			return nil, fmt.Errorf("failed to lock key %q, lock is already held", v.Key)
		}
	case "set", "delete":
	default:
		return nil, fmt.Errorf("unknown KV verb %q", v.Verb)
	}
	if strings.HasPrefix(v.Verb, "delete") {
		delete(f.entries, v.Key)
		return nil, nil
	}
	p := fakePair{Key: v.Key, Value: v.Value, ModifyIndex: f.index + 1, CreateIndex: f.index + 1}
	if exists {
		p.CreateIndex, p.Session = now.CreateIndex, now.Session
	}
	if v.Verb == "lock" {
		p.Session = v.Session
	}
	f.entries[v.Key] = p
	p.Value = nil // the response to a write has no value
	return []fakePair{p}, nil
}

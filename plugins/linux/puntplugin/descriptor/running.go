package descriptor

import (
	"fmt"
	"maps"
	"os"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/puntplugin/internal/proxy"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/linux/punt"
)

// Running has the proxies of a process. The zero value has none. Its methods may be called
// concurrently.
type Running struct {
	mu     sync.Mutex
	byKey  map[string]*running
	closed bool
}

// running is a proxy.
type running struct {
	*proxy.Proxy
	value     *punt.Proxy
	namespace netlinkapi.NamespaceID // of the socket that receives
	path      netlinkapi.PathSocket  // nil: the socket is a port
}

// start registers a proxy. After Close it ends the proxy, and returns an error.
func (r *Running) start(key string, p *running) error {
	r.stop(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		p.Close()
		return fmt.Errorf("the proxy was stopped: %w", os.ErrClosed)
	}
	if r.byKey == nil {
		r.byKey = map[string]*running{}
	}
	r.byKey[key] = p
	return nil
}

func (r *Running) get(key string) *running {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byKey[key]
}

// set changes the value of a proxy.
func (r *Running) set(key string, v *punt.Proxy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := *r.byKey[key]
	changed.value = proto.CloneOf(v)
	r.byKey[key] = &changed
}

// stop ends a proxy, if it runs.
func (r *Running) stop(key string) {
	r.mu.Lock()
	p := r.byKey[key]
	delete(r.byKey, key)
	r.mu.Unlock()
	if p != nil {
		p.Close()
	}
}

func (r *Running) all() map[string]*running {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.byKey)
}

// Counters returns what each proxy has done, by the names of the proxies.
func (r *Running) Counters() map[string]proxy.Counters {
	counters := map[string]proxy.Counters{}
	for _, p := range r.all() {
		counters[p.value.GetName()] = p.Counters()
	}
	return counters
}

// Close ends all proxies; no further ones start.
func (r *Running) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	for key := range r.all() {
		r.stop(key)
	}
}

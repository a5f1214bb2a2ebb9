package rest

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/infra/rest/internal/access"
)

// HTTPHandlers is where plugins add their endpoints.
type HTTPHandlers interface {
	// Register adds endpoints of a plugin; its name is the heading over them on
	// the index page. An endpoint that collides with another one is an error,
	// and the others are added.
	Register(plugin string, endpoints ...Endpoint) error
	// RegisterHTTPHandler adds one endpoint; methods default to GET.
	RegisterHTTPHandler(path string, h http.HandlerFunc, methods ...string) error
}

// Endpoint is one path of the server.
type Endpoint struct {
	// Path may have parameters ("/log/{logger}/{level}", read with
	// Request.PathValue); one that ends in "/" stands for all paths below it.
	Path string
	// Methods default to GET, which includes HEAD.
	Methods []string
	// Doc says in a line what the endpoint is for, with its query parameters.
	Doc string
	// Groups are the groups of permissions that include the endpoint, besides
	// the one that is named as its plugin.
	Groups  []string
	Handler http.HandlerFunc
}

// Names of groups that endpoints of the plugins are in.
const (
	GroupInfo             = "info"               // which program this is, and what it has
	GroupConfigRead       = "nbConfigRead"       // what is asked for
	GroupConfigWrite      = "nbConfigWrite"      // changes of that
	GroupConfigValidation = "nbConfigValidation" // what would be wrong with a change, and what it would do
	GroupDump             = "dump"               // what there is
	GroupStats            = "stats"              // counters
	GroupTelemetry        = "telemetry"          // counters of VPP, and what monitoring reads
)

// router is the ServeMux with a list of what is in it.
type router struct {
	mux     *http.ServeMux
	perms   *access.Groups
	metrics *serverMetrics

	mu     sync.Mutex
	groups map[string][]Endpoint
}

func (p *Plugin) routes() *router {
	p.once.Do(func() {
		p.router = &router{mux: http.NewServeMux(), perms: access.NewGroups(), metrics: newServerMetrics(), groups: map[string][]Endpoint{}}
	})
	return p.router
}

// Register adds endpoints, see HTTPHandlers.
func (p *Plugin) Register(plugin string, endpoints ...Endpoint) error {
	var errs []error
	for _, e := range endpoints {
		errs = append(errs, p.routes().add(plugin, e))
	}
	return errors.Join(errs...)
}

// RegisterHTTPHandler adds one endpoint, see HTTPHandlers.
func (p *Plugin) RegisterHTTPHandler(path string, h http.HandlerFunc, methods ...string) error {
	return p.Register("other", Endpoint{Path: path, Handler: h, Methods: methods})
}

func (r *router) add(plugin string, e Endpoint) (err error) {
	if len(e.Methods) == 0 {
		e.Methods = []string{http.MethodGet}
	}
	defer func() { // ServeMux panics on patterns that are malformed or collide
		if p := recover(); p != nil {
			err = fmt.Errorf("register %s %s: %v", strings.Join(e.Methods, "|"), e.Path, p)
		}
	}()
	for _, m := range e.Methods {
		r.mux.Handle(m+" "+e.Path, e.Handler)
		for _, group := range append([]string{plugin}, e.Groups...) {
			if err := r.perms.Add(group, m+" "+e.Path); err != nil {
				return err
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups[plugin] = append(r.groups[plugin], e)
	return nil
}

// group is a plugin with its endpoints, for the index page.
type group struct {
	Plugin    string
	Endpoints []Endpoint
}

func (r *router) list() []group {
	r.mu.Lock()
	defer r.mu.Unlock()
	var gs []group
	for name, es := range r.groups {
		es = slices.Clone(es)
		slices.SortStableFunc(es, func(a, b Endpoint) int { return strings.Compare(a.Path, b.Path) })
		gs = append(gs, group{name, es})
	}
	slices.SortFunc(gs, func(a, b group) int { return strings.Compare(a.Plugin, b.Plugin) })
	return gs
}

// ServeHTTP answers what no endpoint serves with a JSON error.
func (r *router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h, pattern := r.mux.Handler(req)
	if pattern != "" {
		r.mux.ServeHTTP(w, req)
		return
	}
	answer := &refusal{header: http.Header{}}
	h.ServeHTTP(answer, req)
	switch answer.status {
	case http.StatusMethodNotAllowed:
		allow := answer.header.Get("Allow")
		w.Header().Set("Allow", allow)
		WriteError(w, answer.status, fmt.Errorf("%s %s: expected method %s", req.Method, req.URL.Path, allow))
	default:
		WriteError(w, http.StatusNotFound, fmt.Errorf("no endpoint %s; / lists them", req.URL.Path))
	}
}

// refusal keeps the status of the ServeMux's own answers.
type refusal struct {
	header http.Header
	status int
}

func (r *refusal) Header() http.Header         { return r.header }
func (r *refusal) Write(b []byte) (int, error) { return len(b), nil }
func (r *refusal) WriteHeader(status int)      { r.status = status }

// handler is the chain in front of the endpoints.
func (p *Plugin) handler() http.Handler {
	var h http.Handler = p.routes()
	h = p.recovering(h)
	h = sameOrigin(h)
	if p.guard != nil {
		h = p.guard.protect(h)
	}
	return p.instrumented(p.cfg.RateLimiter.limitRate(p.cfg.limitBody(h)))
}

// recovering answers a request whose handler panicked with status 500.
func (p *Plugin) recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v) /* ok: net/http wants an answer to be aborted like this */
			}
			p.Log.Error("HTTP handler panicked", "method", r.Method, "path", r.URL.Path, "panic", v)
			WriteError(w, http.StatusInternalServerError, fmt.Errorf("%s %s: internal error", r.Method, r.URL.Path))
		}()
		next.ServeHTTP(w, r)
	})
}

// sameOrigin keeps web pages of others from changing anything through the
// browser of someone on this machine.
func sameOrigin(next http.Handler) http.Handler {
	c := http.NewCrossOriginProtection()
	c.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		WriteError(w, http.StatusForbidden, errors.New("a request from another web site may not change anything"))
	}))
	return c.Handler(next)
}

// WriteError answers with {"error": "..."}. If the error is that the body was
// too large or too slow, it answers with the status for that.
func WriteError(w http.ResponseWriter, status int, err error) {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		status, err = http.StatusRequestTimeout, errors.New("the body took too long to arrive (read-timeout in http.conf)")
	}
	WriteJSON(w, status, map[string]string{"error": err.Error()})
}

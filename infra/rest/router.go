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
	"github.com/tenuto-dev/tenuto/infra/rest/render"
)

// HTTPHandlers registers endpoints of plugins.
type HTTPHandlers interface {
	// Register adds endpoints of a plugin, whose name is their heading on the
	// index page. It returns an error for endpoints that conflict with others,
	// and adds the rest.
	Register(plugin string, endpoints ...Endpoint) error
	// RegisterHTTPHandler adds the endpoint of the handler that the provider returns, as
	// code written for cn-infra does; methods default to GET. The provider may write
	// responses with the formatter. New code uses Register and WriteJSON.
	RegisterHTTPHandler(path string, provider func(formatter *render.Render) http.HandlerFunc, methods ...string) error
}

// Endpoint is one path of the server.
type Endpoint struct {
	// Path may have parameters ("/log/{logger}/{level}", read with
	// Request.PathValue). A path that ends in "/" matches all paths below it.
	Path string
	// Methods default to GET, which includes HEAD.
	Methods []string
	// Doc describes the endpoint in one line, with its query parameters.
	Doc string
	// Page is the title of a page for the browser, which the index page lists first; empty
	// for other endpoints.
	Page string
	// Query are the names of the query parameters; those that end in "..." may be given
	// several times.
	Query []string
	// Response is a value of the Go type of the JSON response, or OneOf, for the schema
	// in /openapi.json; nil if the response is not JSON.
	Response any
	// Groups are the permission groups that include the endpoint, besides the
	// group that is named after its plugin.
	Groups  []string
	Handler http.HandlerFunc
}

// Names of permission groups.
const (
	GroupRead             = access.Reading       // what changes nothing: all GET requests, and these endpoints
	GroupInfo             = "info"               // program, build and models
	GroupConfigRead       = "nbConfigRead"       // read the desired configuration
	GroupConfigWrite      = "nbConfigWrite"      // change the configuration
	GroupConfigValidation = "nbConfigValidation" // validate and plan changes
	GroupDump             = "dump"               // read the actual configuration
	GroupStats            = "stats"              // counters
	GroupTelemetry        = "telemetry"          // counters of VPP, and data for monitoring
)

// router is a ServeMux with a list of its endpoints.
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
func (p *Plugin) RegisterHTTPHandler(path string, provider func(formatter *render.Render) http.HandlerFunc, methods ...string) error {
	h := provider(&render.Render{})
	if h == nil {
		return fmt.Errorf("register %s: the provider returned no handler", path)
	}
	return p.Register("other", Endpoint{Path: path, Handler: h, Methods: methods})
}

func (r *router) add(plugin string, e Endpoint) (err error) {
	if len(e.Methods) == 0 {
		e.Methods = []string{http.MethodGet}
	}
	defer func() { // ServeMux panics on malformed or conflicting patterns
		if p := recover(); p != nil {
			err = fmt.Errorf("register %s %s: %v", strings.Join(e.Methods, "|"), e.Path, p)
		}
	}()
	for _, m := range e.Methods {
		r.mux.Handle(m+" "+e.Path, e.Handler)
		groups := append([]string{plugin}, e.Groups...)
		if slices.Contains(groups, GroupConfigValidation) {
			groups = append(groups, GroupRead) // a plan and a validation change nothing
		}
		for _, group := range groups {
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

// ServeHTTP responds with a JSON error if there is no endpoint.
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

// refusal records the status of the ServeMux's own responses.
type refusal struct {
	header http.Header
	status int
}

func (r *refusal) Header() http.Header         { return r.header }
func (r *refusal) Write(b []byte) (int, error) { return len(b), nil }
func (r *refusal) WriteHeader(status int)      { r.status = status }

// handler returns the chain of handlers in front of the endpoints.
func (p *Plugin) handler() http.Handler {
	var h http.Handler = p.routes()
	h = p.recovering(h)
	h = sameOrigin(h)
	h = p.checkHost(h)
	if p.guard != nil {
		h = p.guard.protect(h)
	}
	return p.instrumented(p.cfg.RateLimiter.limitRate(p.cfg.limitBody(h)))
}

// recovering responds with status 500 if a handler panics.
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

// failure is the response of WriteError.
type failure struct {
	Text   string `json:"error"`
	Former string `json:"Error"`
}

// WriteError responds with {"error": "..."}, and with the same text as "Error", where
// clients of the predecessor look. If the body was too large or too
// slow, it uses the status for that.
func WriteError(w http.ResponseWriter, status int, err error) {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		status, err = http.StatusRequestTimeout, errors.New("timeout while reading the body (read-timeout in http.conf)")
	}
	text := err.Error()
	WriteJSON(w, status, failure{text, text})
}

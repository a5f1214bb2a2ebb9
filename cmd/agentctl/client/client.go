// Package client is a client of an agent's HTTP interface. agentctl uses it,
// and any Go program can.
package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options are the options of a client; the zero value is for an agent on this
// machine with the default port.
type Options struct {
	Host      string        // name or address, or the path of a unix socket; "127.0.0.1" if empty
	Port      int           // of the HTTP server; 9191 if 0
	BasicAuth string        // "user:password"; empty: none
	Token     string        // of Login, instead of BasicAuth; empty: none
	TLS       *tls.Config   // nil: plain HTTP
	Timeout   time.Duration // request timeout (0 disables it)
	// ShowSecrets asks for values with their secrets, for which users need the
	// permission "secrets".
	ShowSecrets bool
	// Trace is called for each request when its response has arrived. It may be
	// nil.
	Trace func(method, url, status string, took time.Duration)
}

// The defaults of Options.
const (
	DefaultHost = "127.0.0.1"
	DefaultPort = 9191
)

// maxAnswer is the maximum size of a response.
const maxAnswer = 1 << 30

// Client is a client of one agent. It may be used concurrently. Its services are the parts of the
// agent's interface.
type Client struct {
	Agent         AgentService
	Auth          AuthService
	Configuration ConfigurationService
	History       HistoryService
	Log           LogService
	Metrics       MetricsService
	Plans         PlanService
	Repair        RepairService
	Scheduler     SchedulerService
	VPP           VPPService

	base      string
	opts      Options
	http      *http.Client
	transport *http.Transport // of http
}

// New returns a client; it does not connect yet.
func New(opts Options) *Client {
	opts.Host, opts.Port = cmp.Or(opts.Host, DefaultHost), cmp.Or(opts.Port, DefaultPort)
	scheme := "http"
	if opts.TLS != nil {
		scheme = "https"
	}
	base := fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(strings.Trim(opts.Host, "[]"), fmt.Sprint(opts.Port)))
	transport := &http.Transport{TLSClientConfig: opts.TLS, IdleConnTimeout: 30 * time.Second}
	if socket := socketPath(opts.Host); socket != "" { // the traffic stays on this machine: no TLS
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		}
		base = "http://localhost"
	}
	c := &Client{base: base, opts: opts, transport: transport, http: &http.Client{Transport: transport, Timeout: opts.Timeout}}
	c.Agent = AgentService{c}
	c.Auth = AuthService{c}
	c.Configuration = ConfigurationService{c}
	c.History = HistoryService{c}
	c.Log = LogService{c}
	c.Metrics = MetricsService{c}
	c.Plans = PlanService{c}
	c.Repair = RepairService{c}
	c.Scheduler = SchedulerService{c}
	c.VPP = VPPService{c}
	return c
}

// socketPath returns the path of a host that is a unix socket ("/run/agent.sock",
// "unix:/run/agent.sock"), and "" for others.
func socketPath(host string) string {
	path, isUnix := strings.CutPrefix(host, "unix:")
	if !isUnix && !strings.HasPrefix(path, "/") {
		return ""
	}
	return path
}

// where returns the address of the agent for users.
func where(c *Client) string {
	if socket := socketPath(c.opts.Host); socket != "" {
		return socket
	}
	return c.base
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// URL returns the root of the agent's HTTP interface.
func (c *Client) URL() string { return c.base }

// Error is an error response.
type Error struct {
	Method, Path string
	Status       int    // HTTP status
	Message      string // the agent's message
	Body         []byte // of the response
}

// Error returns the message of the agent, or else the status, with a remedy if
// the message has none.
func (e *Error) Error() string {
	text := e.Message
	if text == "" {
		text = fmt.Sprintf("%s %s: %d %s", e.Method, e.Path, e.Status, http.StatusText(e.Status))
	}
	switch {
	case e.Status == http.StatusUnauthorized:
		text += " (--http-basic-auth, --http-token)"
	case e.Status == http.StatusBadRequest && bytes.Contains(e.Body, []byte("HTTP request to an HTTPS server")):
		text += "; the agent uses TLS (--tls)"
	case e.Status == http.StatusNotFound && e.Message == "":
		text += "; is it an agent that listens there? (-H, --http-port)"
	}
	return text
}

// get requests a path and returns the body of the response.
func (c *Client) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	return c.do(ctx, http.MethodGet, path, query, nil)
}

func decode(path string, body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("answer of %s: %w", path, err)
	}
	return nil
}

// hasValues are the paths that return values, in which secrets are hidden
// unless they are requested.
var hasValues = map[string]bool{
	"/configuration": true, "/configuration/items": true, "/scheduler/dump": true, "/scheduler/txn-history": true, "/scheduler/key-timeline": true,
	"/scheduler/graph-snapshot": true, "/scheduler/drift": true, "/scheduler/orphans": true, "/scheduler/downstream-resync": true,
	"/scheduler/plan": true, "/scheduler/rollback": true,
}

// do sends a request. A response other than 2xx is an *Error.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body []byte) ([]byte, error) {
	u := c.base + path
	if c.opts.ShowSecrets && hasValues[path] {
		with := url.Values{"show-secrets": {"true"}}
		maps.Copy(with, query)
		query = with
	}
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	switch {
	case len(body) == 0:
	case json.Valid(body):
		req.Header.Set("Content-Type", "application/json")
	default:
		req.Header.Set("Content-Type", "application/yaml")
	}
	c.authorize(req)
	begin := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		c.trace(method, u, "no answer", begin)
		return nil, c.explain(err, c.opts.Timeout, method, path)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	c.trace(method, u, resp.Status, begin)
	if err != nil {
		return nil, c.explain(err, c.opts.Timeout, method, path)
	}
	if len(answer) == maxAnswer {
		return nil, fmt.Errorf("%s %s: the answer has more than %d bytes; ask for less of it", method, path, maxAnswer)
	}
	if resp.StatusCode/100 != 2 {
		return nil, refusal(method, path, resp.StatusCode, answer)
	}
	return answer, nil
}

func (c *Client) trace(method, u, status string, begin time.Time) {
	if c.opts.Trace != nil {
		c.opts.Trace(method, u, status, time.Since(begin))
	}
}

func refusal(method, path string, status int, answer []byte) error {
	e := &Error{Method: method, Path: path, Status: status, Body: answer}
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(answer, &said) == nil {
		e.Message = said.Error
	}
	return e
}

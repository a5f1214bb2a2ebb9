// Package restapi is the HTTP interface of the scheduler: its state, history and
// graph, in the JSON of packages api and response. It uses the interfaces of the
// scheduler only, so that it can be tested without one.
package restapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
)

// Scheduler is what the endpoints need of the scheduler.
type Scheduler interface {
	api.DriftDetector
	api.OrphanFinder
	api.Quarantine
	api.Committer
	api.Inspector
	api.Browser
	api.Watcher
	// Stats returns the statistics of all transactions.
	Stats() record.Stats
	// Queue returns the state of the queues.
	Queue() api.QueueStatus
	// ValueTimes returns when base values were changed last, by key.
	ValueTimes() map[string]time.Time
}

// Deps are what the endpoints work with.
type Deps struct {
	Scheduler Scheduler
	// Graphviz is the program that draws pictures of the graph; "dot" if empty.
	Graphviz string
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

type server struct {
	Deps
}

// Endpoints returns the endpoints below /scheduler/. Those that answer with values
// hide the secrets in them, unless the parameter show-secrets asks for them.
func Endpoints(deps Deps) []rest.Endpoint {
	s := &server{deps}
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Graphviz == "" {
		s.Graphviz = "dot"
	}
	get, post := []string{http.MethodGet}, []string{http.MethodPost}
	dump, stats := []string{rest.GroupDump}, []string{rest.GroupStats}
	routes := []route{
		{s.history, rest.Endpoint{Path: "/scheduler/txn-history", Methods: get, Groups: dump, Query: []string{"format", "seq-num", "since", "until", "brief", "items", "critical-path", "limit", secrets}, Response: rest.OneOf{[]api.RecordedTxn{}, []response.BriefTxn{}, api.RecordedTxn{}, response.CriticalPath{}},
			Doc: "transactions; ?limit=N for the last N, ?brief=1 counts their operations, with ?items=1 their items as well, ?format=json|text, ?seq-num=N for one, with ?brief=1 by item, with ?critical-path=1 where its time went (?limit=STEPS, 0 is all), ?since=T&until=T (nanoseconds since 1970 or RFC 3339)"}},
		{s.keyTimeline, rest.Endpoint{Path: "/scheduler/key-timeline", Methods: get, Groups: dump, Query: []string{"key", "time", secrets}, Response: rest.OneOf{[]response.Node{}, response.Node{}},
			Doc: "how a value changed; ?key=K, ?time=T for one moment"}},
		{s.snapshot, rest.Endpoint{Path: "/scheduler/graph-snapshot", Methods: get, Groups: dump, Query: []string{"time", secrets}, Response: []response.Node{},
			Doc: "all values with their relations; ?time=T for the past"}},
		{s.flagStats, rest.Endpoint{Path: "/scheduler/flag-stats", Methods: get, Groups: stats, Query: []string{"flag", "prefix..."}, Response: response.FlagStats{},
			Doc: "number of values by ?flag=value-state|descriptor|last-update|error|unavailable|derived; ?prefix=P (repeatable)"}},
		{s.resync, rest.Endpoint{Path: "/scheduler/downstream-resync", Methods: post, Query: []string{"retry", "verbose", secrets}, Response: api.RecordedTxn{},
			Doc: "read the southbound again and repair what differs; ?retry=1, ?verbose=1"}},
		{s.drift, rest.Endpoint{Path: "/scheduler/drift", Methods: get, Groups: dump, Query: []string{"detect", secrets}, Response: response.Drift{},
			Doc: "how the southbound differs from the record of the agent, as last detected; ?detect=1 for a new detection"}},
		{s.repairDrift, rest.Endpoint{Path: "/scheduler/drift", Methods: post, Query: []string{"repair", "retry", secrets}, Response: response.Drift{},
			Doc: "detect drift and repair just that; ?repair=1, ?retry=1"}},
		{s.quarantine, rest.Endpoint{Path: "/scheduler/quarantine", Methods: get, Groups: dump, Response: response.Quarantine{},
			Doc: "values in quarantine, because their southbound went down whenever they were worked on or soon after, those under suspicion, and those held back"}},
		{s.releaseQuarantined, rest.Endpoint{Path: "/scheduler/quarantine", Methods: post, Query: []string{"release", "key..."}, Response: response.Quarantine{},
			Doc: "try values in quarantine again; ?release=1, ?key=K (repeatable; all without)"}},
		{s.orphans, rest.Endpoint{Path: "/scheduler/orphans", Methods: get, Groups: dump, Query: []string{secrets}, Response: response.Orphans{},
			Doc: "what exists in the southbound and is not configured: made by the agent (Ours), marked as an agent's but not on record (Marked), or foreign"}},
		{s.removeOrphans, rest.Endpoint{Path: "/scheduler/orphans", Methods: post, Query: []string{"remove", "key...", secrets}, Response: response.Orphans{},
			Doc: "remove values that are Ours or Marked; ?remove=1, ?key=K (repeatable)"}},
		{s.dump, rest.Endpoint{Path: "/scheduler/dump", Methods: get, Groups: dump, Query: []string{"descriptor", "key-prefix", "view", secrets}, Response: rest.OneOf{[]response.DumpedValue{}, response.DumpIndex{}},
			Doc: "values; ?descriptor=D or ?key-prefix=P, ?view=SB|NB|cached; without arguments what can be asked for"}},
		{s.status, rest.Endpoint{Path: "/scheduler/status", Methods: get, Groups: dump, Query: []string{"key", "key-prefix", "descriptor...", "times", "contains", "state...", "limit", "after"}, Response: rest.OneOf{[]response.TimedStatus{}, []response.ListedStatus{}, &api.BaseValueStatus{}},
			Doc: "states of values; ?key=K, ?key-prefix=P, ?descriptor=D or all; ?times=1 adds to a list when each state changed; ?limit=N for a page of base and derived values, with ?after=KEY, ?contains=TEXT, ?state=S and ?descriptor=D (repeatable)"}},
		{s.summary, rest.Endpoint{Path: "/scheduler/summary", Methods: get, Groups: stats, Query: []string{"limit", "groups", "key-prefix", "contains", "descriptor...", "state..."}, Response: response.Summary{},
			Doc: "number of values by state, and the worst that are not in effect, with the reason; ?limit=N of them (default 3); ?groups=1 for the numbers by descriptor; ?key-prefix=P, ?contains=TEXT, ?descriptor=D and ?state=S (repeatable) for some values"}},
		{s.graph, rest.Endpoint{Path: "/scheduler/graph", Methods: get, Groups: dump, Query: []string{"txn", "format", "prefix...", "limit", "key", "contains", "descriptor...", "state..."},
			Doc: "the graph; ?format=dot, or svg|png where Graphviz is installed (svg is the default there), ?txn=N for the state after a transaction, ?prefix=P (repeatable), ?limit=N; ?format=json for values and their relations as JSON, or groups of them if there are more than ?limit=N (default 60): ?key=K for a value with its neighbours, or ?prefix=P, ?contains=TEXT, ?descriptor=D and ?state=S (repeatable)"}},
		{s.queue, rest.Endpoint{Path: "/scheduler/queue", Methods: get, Groups: stats, Response: api.QueueStatus{},
			Doc: "the transaction in execution, and the queues of the scheduler and of the orchestrator: lengths, ages and sources"}},
		{s.stats, rest.Endpoint{Path: "/scheduler/stats", Methods: get, Groups: stats, Response: response.Stats{}, Doc: "what transactions did, and how long it took"}},
		{s.why, rest.Endpoint{Path: "/scheduler/why", Methods: get, Groups: dump, Query: []string{"key", "format"}, Response: api.Explanation{},
			Doc: "what a value waits for, down to what blocks it; ?key=K, ?format=json|text"}},
		{s.watch, rest.Endpoint{Path: "/scheduler/watch", Methods: get, Groups: dump, Query: []string{"prefix...", "since", "brief"},
			Doc: "states of values as they change, as server-sent events; ?prefix=P, ?since=REVISION (the id of an event); ?brief=1 for the revisions alone, without a snapshot"}},
		{s.wait, rest.Endpoint{Path: "/scheduler/wait", Methods: get, Groups: dump, Query: []string{"key...", "prefix...", "txn", "state...", "revision", "timeout"}, Response: response.Wait{},
			Doc: "answers when values are CONFIGURED or cannot be; ?key=K and ?prefix=P (repeatable), ?txn=N, all values without them; ?state=S (repeatable), ?revision=R, ?timeout=30s"}},
	}
	endpoints := make([]rest.Endpoint, len(routes))
	for i, r := range routes {
		endpoints[i] = r.Endpoint
		endpoints[i].Handler = handle(r.operation, r.Query...)
	}
	return endpoints
}

// route is an endpoint with the operation that computes its response.
type route struct {
	operation
	rest.Endpoint
}

// secrets is the argument that asks for values with their secrets, which are
// hidden without it.
const secrets = rest.ShowSecretsParameter

// answer writes a successful reply.
type answer func(http.ResponseWriter)

// operation computes the answer to a request with valid argument names.
type operation func(r *http.Request, args arguments) (answer, error)

// handle turns an operation into a handler: it refuses arguments that the
// operation does not know and writes its error.
func handle(op operation, known ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		args, err := parseArguments(r, known)
		var reply answer
		if err == nil {
			reply, err = op(r, args)
		}
		if err != nil {
			var se *statusError
			code := http.StatusInternalServerError
			if errors.As(err, &se) {
				code = se.code
			}
			rest.WriteError(w, code, err)
			return
		}
		reply(w)
	}
}

func asJSON(v any) answer {
	return func(w http.ResponseWriter) { rest.WriteJSON(w, http.StatusOK, v) }
}

// statusError is an error with its HTTP status.
type statusError struct {
	code int
	error
}

func (e *statusError) Unwrap() error { return e.error }

func badRequest(err error) error { return &statusError{http.StatusBadRequest, err} }
func notFound(err error) error   { return &statusError{http.StatusNotFound, err} }

package compatibility

// difference is what differs in the answers to some requests.
type difference struct {
	requests string // regular expression
	body     string // part of the body
	verdict
	how    string
	fields []string // as TestRequests finds them; "*" at the end is anything
}

// differences are the requests whose answers are not the same. The first entry that
// matches a request counts.
func differences() []difference {
	const (
		clearStatus = "400 or 404 instead of 500 for an invalid request; the text names the mistake and the expected input"
		notFound    = "404 says what there is"
		ownRoutes   = "routes and entries that VPP makes itself are left out, because they were not configured"
		jsonError   = "errors are objects with `error`; a command that VPP refuses is 502"
	)
	return []difference{
		{`GET /configuration\?format=json`, "", better, "JSON, where the parameter had no effect", []string{"type application/json"}},
		{`GET /dump/vpp/v2/interfaces(/afpacket)?`, "", better, "rx_modes and rx_placements are there only if they are configured",
			[]string{".*.interface.rx_modes is missing", ".*.interface.rx_placements is missing"}},
		{`GET /dump/vpp/v2/fib`, "", better, ownRoutes, []string{".*.fib.*"}},
		{`GET /dump/vpp/v2/routes`, "", better, ownRoutes + "; the labels of a path are those that it has, not 16",
			[]string{"[].Meta.LabelStack is empty", "[].Route.*"}},
		{`GET /dump/vpp/v2/ipscanneigh`, "", better, "it works", []string{"status 200", "is []interface {}"}},
		{`GET /vpp/telemetry`, "", better, "one list; a command that VPP refuses has its error beside those that work", []string{"status 200"}},
		{`GET /govppmux/stats`, "", cannot, "the time of single requests is not measured, as thousands are under way at once; all counts are the same",
			[]string{".AllMessages.*", ".Messages[].*"}},
		{`GET /scheduler/txn-history`, "", better, ownRoutes, []string{"[].Values[].Value.ProtoMsgData.*"}},
		{`GET /scheduler/txn-history\?seq-num=2`, "", same, "", []string{".Executed*", ".Values*"}}, // another transaction
		{`GET /scheduler/txn-history\?seq-num=x|GET /scheduler/key-timeline|GET /scheduler/flag-stats|GET /scheduler/dump\?view=internal.*|PUT /log/govpp/xxx`, "", better, clearStatus, []string{"status 400"}},
		{`GET /scheduler/key-timeline\?.*time=.*|GET /scheduler/dump\?view=NB&descriptor=nosuch`, "", better, notFound, []string{"status 404"}},
		{`PUT /log/nosuch/debug`, "", better, notFound, []string{"status 404", ".level is missing", ".logger is missing"}},
		{`GET /scheduler/graph-snapshot`, "", better, ownRoutes, []string{"[].Value.ProtoMsgData.*"}},
		{`GET /scheduler/graph\?.*`, "", better, "the type says what it is", []string{"type text/vnd.graphviz"}},
		{`GET /scheduler/stats`, "", cannot, "GraphMethods are functions of the predecessor's graph, which this one does not have; the rest is the same", []string{".GraphMethods is empty"}},
		{`GET /(liveness|readiness)`, "", better, "the type is JSON; the field health has the causes", []string{"type application/json"}},
		{`GET /health`, "", better, "it works", []string{"status 200"}},
		{`GET /(service|nosuch|dump/vpp/v2/wireguard/peers)`, "", better, "404 in JSON", []string{"type application/json"}},
		{`POST /scheduler/downstream-resync.*`, "", better, "what waits is not listed again", []string{".Executed is missing"}},
		{`POST /vpp/command`, "nosuch", better, jsonError, []string{"status 502", "is map[string]interface {}"}},
		{`POST /vpp/command`, `":""`, better, jsonError, []string{"is map[string]interface {}"}},
		{`POST /vpp/command`, "{}", better, jsonError, []string{"is map[string]interface {}"}},
		{`POST /vpp/command`, "bad", better, jsonError, []string{"is map[string]interface {}"}},
		{`POST /configuration/validate`, "zz", better, "the position too; a value that is wrong itself is not called a derived one", []string{"[].error_derived_config_part is missing"}},
		{`(POST|PUT) /configuration.*`, "nosuch", better, "a list of all errors with their positions, and 400", []string{"status 400", "is []interface {}"}},
		{`PUT /configuration`, "zz", better, "a list of all errors with their positions, and 400; nothing takes effect", []string{"status 400", "is []interface {}"}},
	}
}

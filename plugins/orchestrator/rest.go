package orchestrator

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/fields"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// bodyName replaces the file name in errors about the body of a request.
const bodyName = "body"

func (p *Plugin) endpoints() []rest.Endpoint {
	read := []string{rest.GroupConfigRead}
	return []rest.Endpoint{
		{Path: "/configuration", Groups: read, Handler: p.getConfiguration, Query: []string{"source", "format", "labels", rest.ShowSecretsParameter}, Doc: "the configuration in effect, as YAML, or with format=json as JSON; source=NAME for the items of one source; labels=team=blue,owner,!old for those with or without labels; show-secrets to include secrets"},
		{Path: "/configuration", Methods: []string{http.MethodPut}, Groups: []string{rest.GroupConfigWrite}, Handler: p.putConfiguration,
			Query: []string{"replace", "labels", "wait", "results"}, Response: response.Outcome{},
			Doc: "adds or changes the items of the body (YAML or JSON) and returns their results; with replace, other items of clients are removed; labels=team=blue,owner gives them labels; " + replyDoc},
		{Path: "/configuration/validate", Methods: []string{http.MethodPost}, Groups: []string{rest.GroupConfigValidation}, Handler: p.validate, Response: rest.OneOf{response.Validated{}, []problem{}}, Doc: "errors in the items of the body; {} if there are none, with findings if VPP or Linux will refuse the items together, or they are likely a mistake"},
		{Path: "/configuration/sources", Groups: read, Handler: p.getSources, Response: []SourceStatus{}, Doc: "sources of the configuration, the one with the highest priority last; guard says why the content of a store is not followed"},
		{Path: "/configuration/sources/accept", Methods: []string{http.MethodPost}, Groups: []string{rest.GroupConfigWrite}, Handler: p.acceptSource,
			Query: []string{"source"}, Response: acceptedSource{}, Doc: "make the content of the store source=NAME take effect that guard-deletes (orchestrator.conf) holds back"},
	}
}

func (p *Plugin) getConfiguration(w http.ResponseWriter, r *http.Request) {
	encode, contentType := p.Codec.Encode, "application/yaml"
	switch format := r.URL.Query().Get("format"); format {
	case "", "yaml":
	case "json":
		encode, contentType = p.Codec.EncodeJSON, "application/json"
	default:
		rest.WriteError(w, http.StatusBadRequest, fmt.Errorf("parameter format: %q: expected yaml or json", format))
		return
	}
	filter, err := parseLabels(r.URL.Query().Get("labels"))
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	source := r.URL.Query().Get("source")
	var values []proto.Message
	for _, kv := range p.ListData(source) {
		if !Labelled(kv.Labels, filter) {
			continue
		}
		val := kv.Val
		if !rest.ShowSecrets(r) {
			val, _ = logging.HideSecrets(val)
		}
		values = append(values, val)
	}
	text, err := encode(values...)
	if err != nil {
		rest.WriteError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", contentType+"; charset=utf-8")
	_, _ = w.Write(text) // fails only if the client has disconnected
}

func (p *Plugin) getSources(w http.ResponseWriter, _ *http.Request) {
	rest.WriteJSON(w, http.StatusOK, p.Sources())
}

// acceptedSource is the response to an acceptance.
type acceptedSource struct {
	Changes int `json:"changes"` // number of changed items, including deleted ones
}

func (p *Plugin) acceptSource(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("source")
	if name == "" {
		rest.WriteError(w, http.StatusBadRequest, errors.New("parameter source: expected the name of a store, such as etcd"))
		return
	}
	changes, err := p.AcceptSource(r.Context(), name, callerOf(r))
	if err != nil {
		rest.WriteError(w, statusOf(w, err), err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, acceptedSource{changes})
}

// problem is an error in one item of a body.
type problem struct {
	response.Problem
	item string // the key of the item, as far as it can be determined
	// invalid is the message with the error, and field the path of its wrong field; empty: the error
	// names none.
	invalid proto.Message
	field   string
}

func (p *Plugin) validate(w http.ResponseWriter, r *http.Request) {
	if b, err := p.body(r); err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
	} else if len(b.problems) > 0 {
		rest.WriteJSON(w, http.StatusBadRequest, b.problems)
	} else {
		rest.WriteJSON(w, http.StatusOK, response.Validated{Findings: b.locate(p.predict(GRPC, b.items))})
	}
}

func (p *Plugin) putConfiguration(w http.ResponseWriter, r *http.Request) {
	replace, err := boolean(r, "replace")
	reply, rerr := replyOf(r)
	labels, lerr := parseLabels(r.URL.Query().Get("labels"))
	if err := errors.Join(err, rerr, lerr); err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	b, err := p.body(r)
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	if len(b.problems) > 0 {
		p.NoteRefused(GRPC, refusedOf(b.problems)...)
		rest.WriteJSON(w, http.StatusBadRequest, b.problems)
		return
	}
	items := b.items
	for i := range items {
		items[i].Labels = labels
	}
	opts := []PushOption{WithCaller(callerOf(r)), WithDescription(r.Method + " " + r.URL.Path)}
	if replace {
		opts = append(opts, WithResync())
	}
	results, err := p.PushData(r.Context(), GRPC, items, opts...)
	out := p.outcome(r.Context(), reply, GRPC, items, results, err)
	out.Findings = b.locate(p.findings(items))
	status := http.StatusOK
	if out.Error != "" {
		status = statusOf(w, err)
	}
	rest.WriteJSON(w, status, out)
}

// callerOf returns the client of a request.
func callerOf(r *http.Request) (c Caller) {
	c.User, c.Addr = rest.Caller(r)
	return c
}

// boolean reads a parameter that is true if it has no value.
func boolean(r *http.Request, name string) (bool, error) {
	if !r.URL.Query().Has(name) {
		return false, nil
	}
	text := r.URL.Query().Get(name)
	if text == "" {
		return true, nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("parameter %s: %q: expected true or false", name, text)
	}
	return v, nil
}

// body is the body of a request: its items and their errors.
type body struct {
	items    []KeyVal
	problems []problem

	text []byte
	doc  *document.Document
}

// body parses the items of a request.
func (p *Plugin) body(r *http.Request) (*body, error) {
	text, err := io.ReadAll(r.Body) // http.conf limits it
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	doc := p.Codec.WithSecrets(p.restoreGRPC).Decode(bodyName, text, "")
	var problems []problem
	for _, e := range doc.Errs {
		problems = append(problems, problem{Problem: response.Problem{Path: e.Field, Error: e.Msg, Key: e.Key, Line: e.Line, Column: e.Column, More: e.More}, item: e.ItemKey()})
	}
	items := make([]KeyVal, 0, len(doc.Items))
	at := kv.At(bodyName)
	for _, it := range doc.Items {
		items = append(items, KeyVal{Key: it.Key, Val: it.Value, Location: at.Line(it.Line)})
	}
	problems = append(problems, p.semantic(text, doc.Items)...)
	partial := p.semantic(text, doc.Partial) // a field without a value may be one that could not be read
	problems = append(problems, slices.DeleteFunc(partial, func(wrong problem) bool { return !hasField(wrong.invalid, wrong.field) })...)
	slices.SortStableFunc(problems, func(a, b problem) int { return cmp.Or(cmp.Compare(a.More, b.More), cmp.Compare(a.Line, b.Line)) })
	return &body{items, problems, text, doc}, nil
}

// maxLocated limits the fields whose positions are searched in a text.
const maxLocated = 100

// semantic validates items of a text by their descriptors.
func (p *Plugin) semantic(text []byte, items []document.Item) []problem {
	byMessage := make(map[proto.Message]document.Item, len(items))
	messages := make([]proto.Message, 0, len(items))
	for _, it := range items {
		byMessage[it.Value] = it
		messages = append(messages, it.Value)
	}
	err := p.Scheduler.ValidateSemantically(messages)
	var invalid *api.InvalidMessagesError
	if !errors.As(err, &invalid) {
		if err != nil {
			return []problem{{Problem: response.Problem{Error: err.Error()}}}
		}
		return nil
	}
	var problems []problem
	positions := document.Locator{Text: text}
	for _, e := range invalid.MessageErrors {
		it, ok := byMessage[e.Message]
		if !ok {
			it = byMessage[e.ParentMessage]
		}
		for _, err := range single(e.Err) {
			path, at, first := it.Key, it.Position, ""
			if field := (*api.InvalidValueError)(nil); errors.As(err, &field) && len(field.Fields()) > 0 {
				path += ": " + strings.Join(field.Fields(), ", ")
				err, first = field.Unwrap(), field.Fields()[0]
				if ok && len(problems) < maxLocated {
					at = positions.Locate(at, first)
				}
			}
			wrong := response.Problem{Path: path, Error: err.Error(), Key: it.Key, Line: at.Line, Column: at.Column, Item: p.part(it.Value)}
			if !ok {
				wrong.Derived = p.part(e.Message)
			}
			problems = append(problems, problem{wrong, it.Key, e.Message, first})
		}
	}
	return problems
}

// hasField reports whether a message has a value in the field with a path
// ("rules[0].ip_rule.ip.source_network"), or in a part of that field.
func hasField(msg proto.Message, path string) bool {
	if path == "" {
		return false
	}
	for set := range fields.Of(msg).Set() {
		if rest, ok := strings.CutPrefix(set, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// part returns a value as YAML, without its secrets.
func (p *Plugin) part(val proto.Message) string {
	val, _ = logging.HideSecrets(val)
	text, err := document.EncodeItem(val)
	if err != nil {
		p.Log.Debug("value cannot be written as YAML", "error", err)
	}
	return string(text)
}

// single splits joined errors.
func single(err error) (all []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, e := range joined.Unwrap() {
		all = append(all, single(e)...)
	}
	return all
}

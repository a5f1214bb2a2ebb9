package orchestrator_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/infra/rest/render"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// server collects the endpoints and answers in memory.
type server struct {
	*http.ServeMux
	t *testing.T
}

func (s server) Register(_ string, endpoints ...rest.Endpoint) error {
	for _, e := range endpoints {
		methods := e.Methods
		if methods == nil {
			methods = []string{http.MethodGet}
		}
		for _, m := range methods {
			s.Handle(m+" "+e.Path, e.Handler)
		}
	}
	return nil
}

func (s server) RegisterHTTPHandler(path string, provider func(*render.Render) http.HandlerFunc, methods ...string) error {
	return s.Register("", rest.Endpoint{Path: path, Handler: provider(&render.Render{}), Methods: methods})
}

// do sends a request and checks the status and parts of the answer.
func (s server) do(method, path, body string, status int, parts ...string) string {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body)))
	answer, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != status {
		s.t.Errorf("%s %s: status %d, want %d: %v\n%s", method, path, w.Code, status, err, answer)
	}
	for _, part := range parts {
		if !strings.Contains(string(answer), part) {
			s.t.Errorf("%s %s: no %s in\n%s", method, path, part, answer)
		}
	}
	return string(answer)
}

func TestREST(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	w := start(t, nil, orchestrator.UseHTTP(s))
	w.waitSynced()
	s.do("PUT", "/configuration", "vppConfig: {interfaces: [{name: a, mtu: 1}, {name: b}]}", 200, `"state": "CONFIGURED"`, `"source": "grpc"`)
	w.wantMTU("a", 1)
	want := "vppConfig:\n  interfaces:\n    - name: a\n      mtu: 1\n    - name: b\nlinuxConfig: {}\nnetallocConfig: {}\n"
	if got := s.do("GET", "/configuration", "", 200); got != want {
		t.Errorf("configuration\n%s\nwant\n%s", got, want)
	}
	if got := s.do("GET", "/configuration?source=localclient", "", 200); strings.Contains(got, "name") {
		t.Errorf("configuration of localclient\n%s", got)
	}
	s.do("PUT", "/configuration?replace", `{"vppConfig": {"interfaces": [{"name": "a", "mtu": 2}]}}`, 200)
	w.wantMTU("a", 2)
	w.wantMTU("b", -1)
	s.do("PUT", "/configuration?replace=false", "vppConfig: {interfaces: [{name: c, mtu: 9}]}", 200)
	w.wantMTU("a", 2)
	s.do("GET", "/configuration/sources", "", 200, `"name": "grpc"`, `"items": 2`)

	w.sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: iface("d", 0).Key})
	s.do("PUT", "/configuration", "vppConfig: {interfaces: [{name: d}]}", 500, `"error":`, "injected failure", `"key": "config/vpp/v2/interfaces/d"`)
}

// Nothing of a body with errors takes effect, and the response lists all errors.
func TestRESTErrors(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	w := start(t, nil, orchestrator.UseHTTP(s))
	w.waitSynced()
	bad := "vppConfig:\n  interfaces:\n  - {name: good, mtu: 1}\n  - name: a\n    mtu: 9100\n  - {name: b, mtu: -1}\n  - {nam: c}\n  - {name: d, mtu: 9001, enable: true}\n"
	answers := []string{
		s.do("PUT", "/configuration", bad, 400),
		s.do("PUT", "/configuration?replace=true", bad, 400),
		s.do("POST", "/configuration/validate", bad, 400),
	}
	for _, answer := range answers {
		var got []struct {
			Path, Error string
			Line        int
			Item        string `json:"error_config_part"`
		}
		if err := json.Unmarshal([]byte(answer), &got); err != nil || len(got) != 5 {
			t.Fatalf("%v in\n%s", err, answer)
		}
		var lines []int
		for _, p := range got {
			lines = append(lines, p.Line)
		}
		// An item with an unknown field is validated as well.
		if !slices.Equal(lines, []int{5, 6, 7, 8, 8}) || got[1].Path != "vppConfig.interfaces[2].mtu" || got[0].Path != "config/vpp/v2/interfaces/a: mtu" {
			t.Errorf("problems %+v", got)
		}
		if got[0].Item != "name: a\nmtu: 9100\n" || got[1].Item != "" {
			t.Errorf("items %+v", got)
		}
		if strings.HasPrefix(got[0].Error, "mtu") {
			t.Errorf("the field is listed twice: %+v", got[0])
		}
	}
	w.wantMTU("good", -1)
	s.do("POST", "/configuration/validate", "vppConfig: {interfaces: [{name: good}]}", 200, "{}")
	if got := s.do("GET", "/configuration?format=json", "", 200); !json.Valid([]byte(got)) || !strings.Contains(got, `"vppConfig": {}`) {
		t.Errorf("as JSON: %s", got)
	}
	s.do("GET", "/configuration?format=xml", "", 400, "expected yaml or json")
	s.do("PUT", "/configuration", "data: [{key: config/vpp/v2/interfaces/j, value: {name: j, mtu: 5}}]", 200)
	if got := s.do("GET", "/configuration?format=json", "", 200); !strings.Contains(got, `"name": "j",`+"\n"+`        "mtu": 5`) {
		t.Errorf("as JSON: %s", got)
	}
	s.do("POST", "/configuration/validate", "{", 400, "malformed")
	s.do("PUT", "/configuration?replace=maybe", "", 400, "expected true or false")
}

// The sources of items, and the models, are what clients see.
func TestRESTItemsAndModels(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	w := start(t, nil, orchestrator.UseHTTP(s))
	w.waitSynced()
	s.do("PUT", "/configuration", "vppConfig:\n  interfaces: [{name: a, mtu: 1}, {name: b, mtu: 1, memif: {secret: s}}]", 200)
	if _, err := w.PushData(t.Context(), orchestrator.LocalClient, []orchestrator.KeyVal{iface("a", 2)}); err != nil {
		t.Fatal(err)
	}
	s.do("GET", "/configuration/items", "", 200, `{
    "key": "config/vpp/v2/interfaces/a",
    "source": "localclient",
    "shadowed": [
      {
        "source": "grpc",
        "location": "body:2"
      }
    ]
  },
  {
    "key": "config/vpp/v2/interfaces/b",`)
	s.do("GET", "/configuration/items?key=config/vpp/v2/interfaces/a&key=none", "", 200, `"value": "name: a\nmtu: 2\n"`, `"value": "name: a\nmtu: 1\n"`)
	if got := s.do("GET", "/configuration/items?key=config/vpp/v2/interfaces/b", "", 200, "secret: '***'"); strings.Contains(got, "secret: s") {
		t.Error("a secret is shown")
	}
	if got := s.do("GET", "/info/models", "", 200, `"KeyPrefix": "config/vpp/v2/interfaces/"`); strings.Contains(got, `"descriptors"`) || strings.Contains(got, `"Schema"`) {
		t.Error("descriptors are sent unasked")
	}
	s.do("GET", "/info/models?descriptors", "", 200, `"descriptors": "`)
}

// Labels are given to items and select them.
func TestRESTLabels(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	w := start(t, nil, orchestrator.UseHTTP(s))
	w.waitSynced()
	s.do("PUT", "/configuration?labels=team=blue,owner", "vppConfig: {interfaces: [{name: a, mtu: 1}]}", 200)
	s.do("PUT", "/configuration?labels=", "vppConfig: {interfaces: [{name: b, mtu: 1}]}", 200)
	for filter, want := range map[string]string{"": "ab", "team=blue": "a", "team": "a", "owner,team=red": "", "!team": "b", "!team=red": "ab"} {
		got := s.do("GET", "/configuration?labels="+filter, "", 200)
		for _, name := range []string{"a", "b"} {
			if strings.Contains(got, "name: "+name) != strings.Contains(want, name) {
				t.Errorf("%q: %s", filter, got)
			}
		}
	}
	s.do("GET", "/configuration?labels=a,a", "", 400, "expected different labels")
	s.do("PUT", "/configuration?labels=a,,", "", 400, "expected different labels")
}

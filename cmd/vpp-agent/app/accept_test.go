package app_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	kvs "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	api "github.com/tenuto-dev/tenuto/proto/tenuto/v1"
)

const acceptUsers = `password-hash-cost: 4
users:
- {name: viewer, password: p, permissions: [read]}
- {name: writer, password: p, permissions: [%s]}
`

// keepsEmptied starts an agent, empties its file in place, and waits until the agent reports that
// it does not follow the file.
func keepsEmptied(t *testing.T) *house {
	t.Helper()
	h := newHouse(t, network, "--simulate")
	h.write(t, "http.conf", strings.Replace(acceptUsers, "%s", "nbConfigRead, nbConfigWrite", 1))
	h.write(t, "grpc.conf", strings.Replace(acceptUsers, "%s", "tenuto.v1.AgentService/AcceptSource", 1))
	h.start(t)
	h.await(t, routeKey, kvs.ValueState_CONFIGURED)
	h.empty(t)
	h.awaitGuard(t, true)
	h.await(t, routeKey, kvs.ValueState_CONFIGURED)
	return h
}

// empty truncates the configuration, as a program that dies before it writes.
func (h *house) empty(t *testing.T) {
	t.Helper()
	if err := os.Truncate(filepath.Join(h.dir, "network.yaml"), 0); err != nil {
		t.Fatal(err)
	}
}

// isHeld reports whether the content of a source is held back.
func (h *house) isHeld() bool {
	return slices.ContainsFunc(h.Orchestrator.Sources(), func(s orchestrator.SourceStatus) bool { return s.Guard != nil })
}

// awaitGuard waits until the content of a source is held back, or of none.
func (h *house) awaitGuard(t *testing.T, held bool) {
	t.Helper()
	tick, late := time.NewTicker(10*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for h.isHeld() != held {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("sources %+v: expected held back: %v", h.Orchestrator.Sources(), held)
		}
	}
}

// An operator accepts the content of a source over REST, the API over HTTP, and gRPC; users
// without the permission to change the configuration may not.
func TestAcceptSource(t *testing.T) {
	t.Parallel()
	post := func(t *testing.T, h *house, user, path, body string) (int, map[string]any) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.HTTP.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth(user, "p")
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer := map[string]any{}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			t.Fatalf("%s as %s: %s: %v", path, user, resp.Status, err)
		}
		return resp.StatusCode, answer
	}
	overHTTP := func(path, body string) func(*testing.T, *house, string) bool {
		return func(t *testing.T, h *house, user string) bool {
			code, answer := post(t, h, user, path, body)
			if code == http.StatusOK && answer["changes"] != 2. {
				t.Errorf("%s: %v, expected 2 changes", path, answer)
			}
			if code != http.StatusOK && code != http.StatusForbidden {
				t.Errorf("%s: status %d: %v", path, code, answer)
			}
			return code == http.StatusOK
		}
	}
	for name, accept := range map[string]func(t *testing.T, h *house, user string) bool{
		"REST":          overHTTP("/configuration/sources/accept?source=filedb", ""),
		"API over HTTP": overHTTP("/tenuto.v1.AgentService/AcceptSource", `{"source":"filedb"}`),
		"gRPC": func(t *testing.T, h *house, user string) bool {
			conn, err := rpc.NewClient(h.GRPC.Addr().String(), rpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			ctx := metadata.AppendToOutgoingContext(t.Context(), "username", user, "password", "p")
			answer, err := api.NewAgentServiceClient(conn).AcceptSource(ctx, &api.AcceptSourceRequest{Source: "filedb"})
			if err != nil && status.Code(err) != codes.PermissionDenied {
				t.Error(err)
			}
			if err == nil && answer.GetChanges() != 2 {
				t.Errorf("%v, expected 2 changes", answer)
			}
			return err == nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := keepsEmptied(t)
			if accept(t, h, "viewer") {
				t.Error("a user with the permission read accepts the content")
			}
			h.await(t, routeKey, kvs.ValueState_CONFIGURED)
			if !accept(t, h, "writer") {
				t.Error("a user with the permission may not accept the content")
			}
			h.await(t, routeKey, kvs.ValueState_NONEXISTENT)
			h.awaitGuard(t, false)
		})
	}
	t.Run("bad requests", func(t *testing.T) {
		t.Parallel()
		h := keepsEmptied(t)
		for _, c := range []struct {
			path, body, want string
			code             int
		}{
			{"/configuration/sources/accept", "", "parameter source: expected the name of a store, such as etcd", http.StatusBadRequest},
			{"/configuration/sources/accept?source=etcd9", "", "there is no such store", http.StatusNotFound},
			{"/tenuto.v1.AgentService/AcceptSource", "{}", "expected the name of a store, such as etcd", http.StatusBadRequest},
			{"/tenuto.v1.AgentService/AcceptSource", `{"source":"etcd9"}`, "there is no such store", http.StatusNotFound},
		} {
			code, answer := post(t, h, "writer", c.path, c.body)
			if text, _ := json.Marshal(answer); code != c.code || !strings.Contains(string(text), c.want) {
				t.Errorf("%s %s: %d %s, expected %d %s", c.path, c.body, code, text, c.code, c.want)
			}
		}
	})
}

// guard-deletes of orchestrator.conf: off follows an emptied file as any other change.
func TestGuardOff(t *testing.T) {
	t.Parallel()
	h := newHouse(t, network, "--simulate")
	h.write(t, "orchestrator.conf", "guard-deletes: off\n")
	h.start(t)
	h.await(t, routeKey, kvs.ValueState_CONFIGURED)
	h.empty(t)
	h.await(t, routeKey, kvs.ValueState_NONEXISTENT)
	if h.isHeld() {
		t.Errorf("held back: %+v", h.Orchestrator.Sources())
	}
}

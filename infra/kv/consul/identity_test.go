package consul

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// The index of a prefix goes back when Consul forgets a deletion; the index of all keys does not.
func TestIdentity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		all, mesh int // status of the requests
		want      kv.Identity
	}{
		"all known":        {http.StatusOK, http.StatusOK, kv.Identity{Store: "cluster 11e2", Revision: 120}},
		"no mesh":          {http.StatusNotFound, http.StatusInternalServerError, kv.Identity{Revision: 120}},
		"restricted token": {http.StatusForbidden, http.StatusForbidden, kv.Identity{Revision: 90}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			answer := func(path string, status, index int, body string) {
				mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("X-Consul-Index", fmt.Sprint(index))
					w.WriteHeader(status)
					_, _ = w.Write([]byte(body))
				})
			}
			answer("/v1/kv/vnf-agent/", http.StatusOK, 90, "[]")
			answer("/v1/kv/{$}", c.all, 120, "[]")
			answer("/v1/connect/ca/roots", c.mesh, 7, `{"TrustDomain":"11e2.consul"}`)
			server := httptest.NewServer(mux)
			defer server.Close()
			cfg := DefaultConfig()
			cfg.Address = server.URL
			db, closeDB, err := Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = closeDB() }()
			l, err := db.List(t.Context(), "/vnf-agent/")
			if err != nil || l.Identity != c.want {
				t.Errorf("identity %+v, %v, want %+v", l.Identity, err, c.want)
			}
		})
	}
}

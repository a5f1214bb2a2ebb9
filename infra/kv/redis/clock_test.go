package redis_test

import (
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// The server gets a duration, not a time: it does not matter whether the
// clock of the agent is right.
func TestTTLIsCountedByTheServer(t *testing.T) {
	t.Parallel()
	server := kvtest.Redis(t)
	p, _, _ := connect(t, conf(server.Addr))
	if err := p.DB().Put(t.Context(), "/p/long", []byte("1"), kv.WithTTL(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if left := number(t, server, "TTL", "/p/long"); left < 3000 || left > 3600 {
		t.Errorf("%d seconds are left of an hour", left)
	}
}

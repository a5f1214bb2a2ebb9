package kvscheduler

import (
	"time"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/restapi"
)

// registerREST adds the endpoints below /scheduler/ to the HTTP server. stats
// and now may be nil: the statistics are then counted from the history, and
// the time is that of the system.
func registerREST(h rest.HTTPHandlers, s api.KVScheduler, stats func() record.Stats, now func() time.Time) error {
	return h.Register("kvscheduler", restapi.Endpoints(restapi.Deps{Scheduler: s, Stats: stats, Now: now})...)
}

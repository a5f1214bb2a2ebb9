package dumpapi

import (
	"fmt"
	"net/http"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/govppmux"
)

// VPPStats reports the connection to VPP.
type VPPStats interface {
	Session() govppmux.Session
	Stats() govppmux.Stats
}

// vppMetric is the model of the metrics that clients know by /metrics/{metric};
// all others have their Prometheus names.
const vppMetric = "govppmux.stats"

// metric answers with metrics that have a model.
func (p *Plugin) metric(w http.ResponseWriter, r *http.Request) {
	if name := r.PathValue("metric"); name != vppMetric {
		rest.WriteError(w, http.StatusNotFound, fmt.Errorf("metric %q: expected %s; all others are at /metrics", name, vppMetric))
		return
	}
	session, s := p.VPP.Session(), p.VPP.Stats()
	m := &pb.Metrics{ // a connection is one channel
		ChannelsCreated: session.Epoch, RequestsSent: s.Requests, RequestReplies: s.Replies,
		RequestsFail: s.Failed(), RequestsDone: s.Done(),
	}
	if session.Up {
		m.ChannelsOpen = 1
	}
	rest.WriteJSON(w, http.StatusOK, m)
}

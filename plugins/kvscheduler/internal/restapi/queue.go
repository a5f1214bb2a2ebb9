package restapi

import (
	"net/http"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// jsonQueue is what waits for its turn; times are in seconds.
type jsonQueue struct {
	Length    int
	Capacity  int
	Waiting   map[string]int // by class
	OldestAge float64
}

func (s *server) queue(*http.Request, arguments) (answer, error) {
	var q api.QueueStatus
	if s.Queue != nil {
		q = s.Queue()
	}
	return asJSON(jsonQueue{q.Length, q.Capacity, q.Waiting, q.OldestAge.Seconds()}), nil
}

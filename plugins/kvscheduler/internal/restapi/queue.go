package restapi

import (
	"net/http"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

func (s *server) queue(*http.Request, arguments) (answer, error) {
	var q api.QueueStatus
	if s.Queue != nil {
		q = s.Queue()
	}
	return asJSON(q), nil
}

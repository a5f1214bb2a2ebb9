package restapi

import (
	"net/http"
)

func (s *server) queue(*http.Request, arguments) (answer, error) {
	return asJSON(s.Scheduler.Queue()), nil
}

package restapi

import (
	"errors"
	"net/http"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

func (s *server) quarantine(*http.Request, arguments) (answer, error) {
	list := s.Scheduler.Suspects()
	if list == nil {
		list = []api.Suspect{}
	}
	return asJSON(response.Quarantine{Suspects: list}), nil
}

// releaseQuarantined releases values and returns the remaining ones.
func (s *server) releaseQuarantined(r *http.Request, args arguments) (answer, error) {
	if err := args.confirmed("release"); err != nil {
		return nil, err
	}
	switch err := s.Scheduler.ReleaseQuarantined(r.Context(), args.list("key")...); {
	case errors.Is(err, api.ErrNotQuarantined):
		return nil, &statusError{http.StatusConflict, err}
	case err != nil:
		return nil, unavailable(err)
	}
	return s.quarantine(r, args)
}

package restapi

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

func (s *server) orphans(r *http.Request, _ arguments) (answer, error) {
	return asJSON(s.listOrphans(r)), nil
}

func (s *server) listOrphans(r *http.Request) response.Orphans {
	list := []api.Orphan{}
	for _, o := range s.Scheduler.Orphans() {
		if !rest.ShowSecrets(r) {
			o = o.HideSecrets()
		}
		list = append(list, o)
	}
	return response.Orphans{Orphans: list}
}

// removeOrphans removes orphans and returns the remaining ones.
func (s *server) removeOrphans(r *http.Request, args arguments) (answer, error) {
	if err := args.confirmed("remove"); err != nil {
		return nil, err
	}
	keys := args.list("key")
	if len(keys) == 0 {
		return nil, badRequest(fmt.Errorf("argument %q is missing: expected the keys of the objects to remove", "key"))
	}
	seq, err := s.Scheduler.RemoveOrphans(r.Context(), keys)
	errs, err := valueErrors(err)
	switch {
	case errors.Is(err, api.ErrNoOrphan):
		return nil, &statusError{http.StatusConflict, err}
	case err != nil:
		return nil, unavailable(err)
	}
	reply := s.listOrphans(r)
	reply.SeqNum, reply.Errors = &seq, errs
	return asJSON(reply), nil
}

package restapi

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

func driftReply(r *http.Request, report *api.DriftReport) response.Drift {
	if !rest.ShowSecrets(r) {
		report = report.HideSecrets()
	}
	return response.Drift{DriftReport: *report}
}

// drift returns a report, of a detection made for it if asked for.
func (s *server) drift(r *http.Request, args arguments) (answer, error) {
	detect, err := args.flag("detect")
	if err != nil {
		return nil, err
	}
	if detect {
		report, err := s.Scheduler.DetectDrift(r.Context())
		if err != nil {
			return nil, unavailable(err)
		}
		return asJSON(driftReply(r, report)), nil
	}
	report := s.Scheduler.LastDrift()
	if report == nil {
		return nil, notFound(errors.New("drift was not looked for yet: expected the argument detect=1"))
	}
	return asJSON(driftReply(r, report)), nil
}

// repairDrift detects and repairs what it found.
func (s *server) repairDrift(r *http.Request, args arguments) (answer, error) {
	repair, err1 := args.flag("repair")
	retry, err2 := args.flag("retry")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if !repair {
		return nil, badRequest(fmt.Errorf("argument %q is missing: expected repair=1; to look only, use GET", "repair"))
	}
	report, err := s.Scheduler.DetectDrift(r.Context())
	if err != nil {
		return nil, unavailable(err)
	}
	var opts []api.TxnOption
	if retry {
		opts = append(opts, api.WithRetryDefault())
	}
	reply := driftReply(r, report)
	seq, err := s.Scheduler.RepairDrift(r.Context(), report.Drifts, opts...)
	var txnErr *api.TransactionError
	switch {
	case errors.As(err, &txnErr) && txnErr.GetTxnInitError() == nil:
		for _, kv := range txnErr.GetKVErrors() {
			reply.Errors = append(reply.Errors, kv.Key+": "+kv.Error.Error())
		}
	case err != nil:
		return nil, unavailable(err)
	}
	if seq != api.NoSeqNum {
		reply.Repairs = []uint64{seq}
	}
	return asJSON(reply), nil
}

// unavailable is 503 for a scheduler that was closed.
func unavailable(err error) error {
	if errors.Is(err, api.ErrClosedScheduler) {
		return &statusError{http.StatusServiceUnavailable, err}
	}
	return err
}

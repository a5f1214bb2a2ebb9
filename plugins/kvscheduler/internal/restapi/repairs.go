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
	retry, err := args.flag("retry")
	if err := errors.Join(args.confirmed("repair"), err); err != nil {
		return nil, err
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
	if reply.Errors, err = valueErrors(err); err != nil {
		return nil, unavailable(err)
	}
	if seq != api.NoSeqNum {
		reply.Repairs = []uint64{seq}
	}
	return asJSON(reply), nil
}

// valueErrors returns the errors of values; other errors of a transaction stay errors.
func valueErrors(err error) (errs []string, other error) {
	var txnErr *api.TransactionError
	if !errors.As(err, &txnErr) || txnErr.GetTxnInitError() != nil {
		return nil, err
	}
	for _, kv := range txnErr.GetKVErrors() {
		errs = append(errs, kv.Key+": "+kv.Error.Error())
	}
	return errs, nil
}

// unavailable is 503 for a scheduler that was closed.
func unavailable(err error) error {
	if errors.Is(err, api.ErrClosedScheduler) {
		return &statusError{http.StatusServiceUnavailable, err}
	}
	return err
}

func (s *server) orphans(r *http.Request, _ arguments) (answer, error) {
	if err := s.Scheduler.ReadOrphans(r.Context()); err != nil {
		return nil, unavailable(err)
	}
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
	if err := s.Scheduler.ReadOrphans(r.Context()); err != nil {
		return nil, unavailable(err)
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

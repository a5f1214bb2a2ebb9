package restapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

const (
	// heartbeat is the interval of comments in a stream without events: proxies keep the
	// connection, and the agent notices that a client disconnected.
	heartbeat = 15 * time.Second
	// writeTimeout limits the time to send one event.
	writeTimeout = 30 * time.Second
)

// watch streams the changes of statuses as server-sent events.
func (s *server) watch(r *http.Request, args arguments) (answer, error) {
	req := api.WatchRequest{Prefix: args.text("prefix")}
	if len(args.list("prefix")) > 1 {
		return nil, badRequest(errors.New("argument \"prefix\": expected once"))
	}
	brief, err := args.flag("brief")
	if err != nil {
		return nil, err
	}
	req.NoSnapshot = brief
	since, where := r.Header.Get("Last-Event-ID"), "header \"Last-Event-ID\"" // of a client that reconnects
	if args.has("since") {
		since, where = args.text("since"), "argument \"since\""
	}
	if since != "" {
		if req.Since, err = api.ParseStatusRevision(since); err != nil {
			return nil, badRequest(fmt.Errorf("%s: %w", where, err))
		}
	}
	return func(w http.ResponseWriter) {
		watch := s.Scheduler.Watch(req)
		defer watch.Close()
		stream := http.NewResponseController(w)
		_ = stream.SetReadDeadline(time.Time{}) // the limit of requests does not apply to streams
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		if stream.Flush() != nil { // the client learns that the watch has begun
			return
		}
		for more := true; more; {
			var text string
			text, more = nextEvent(r.Context(), watch, brief)
			_ = stream.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := w.Write([]byte(text)); err != nil || stream.Flush() != nil {
				return // the client disconnected
			}
		}
	}, nil
}

// nextEvent returns the text to send next; false if it is the last one. A brief one has no
// values.
func nextEvent(ctx context.Context, watch api.StatusWatch, brief bool) (text string, more bool) {
	bound, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	ev, err := watch.Next(bound)
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return ":\n\n", true
	default:
		return ": the end\n\n", false
	}
	data := api.WatchEvent{Revision: ev.Revision, Values: ev.Values} // the kind is beside it
	if brief || data.Values == nil {
		data.Values = []*api.BaseValueStatus{}
	}
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Sprintf(": %v\n\n", err), false
	}
	return fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", ev.Revision, ev.Kind, body), true
}

// wait answers when values have reached one of the requested states, or cannot reach it.
func (s *server) wait(r *http.Request, args arguments) (answer, error) {
	req, err1 := waitRequest(args)
	timeout, err2 := args.duration("timeout")
	if err := errors.Join(err1, err2); err != nil {
		return nil, badRequest(err)
	}
	return func(w http.ResponseWriter) {
		ctx := r.Context()
		stream := http.NewResponseController(w)
		_ = stream.SetReadDeadline(time.Time{})
		_ = stream.SetWriteDeadline(time.Time{})
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, timeout, timeoutError{timeout})
			defer cancel()
		}
		err := s.Scheduler.WaitFor(ctx, req)
		body := response.Wait{Revision: s.Scheduler.Revision()}
		if err == nil {
			rest.WriteJSON(w, http.StatusOK, body)
			return
		}
		body.Error = err.Error()
		var we *api.WaitError
		if errors.As(err, &we) {
			body.Unmet = we.Unmet
		}
		rest.WriteJSON(w, waitStatus(err), body)
	}, nil
}

// timeoutError is the cause when the time that the client gave is over.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string      { return fmt.Sprintf("not within %v", e.after) }
func (timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

func waitStatus(err error) int {
	switch {
	case errors.Is(err, api.ErrWaitHopeless):
		return http.StatusConflict
	case errors.Is(err, api.ErrNoSuchTransaction):
		return http.StatusNotFound
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	}
	return http.StatusServiceUnavailable
}

func waitRequest(args arguments) (req api.WaitRequest, err error) {
	req.Keys, req.Prefixes = args.list("key"), args.list("prefix")
	if req.States, err = args.states(); err != nil {
		return req, err
	}
	if args.has("txn") {
		n, err := strconv.ParseUint(args.text("txn"), 10, 64)
		if err != nil {
			return req, fmt.Errorf("argument %q is %q: expected the sequence number of a transaction", "txn", args.text("txn"))
		}
		req.Txn = &n
	}
	if args.has("revision") {
		if req.Revision, err = api.ParseStatusRevision(args.text("revision")); err != nil {
			return req, fmt.Errorf("argument %q: %w", "revision", err)
		}
	}
	if len(req.Keys)+len(req.Prefixes) == 0 && req.Txn == nil && !args.has("revision") {
		req.Prefixes = []string{""} // all values
	}
	return req, nil
}

// duration is a positive time as in "30s"; 0 if not given.
func (a arguments) duration(name string) (time.Duration, error) {
	if !a.has(name) {
		return 0, nil
	}
	d, err := time.ParseDuration(a.text(name))
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("argument %q is %q: expected a time as in 30s", name, a.text(name))
	}
	return d, nil
}

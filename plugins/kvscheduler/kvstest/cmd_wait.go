package kvstest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// patience is how long a scenario waits for what must come; it is no measure.
const patience = 2 * time.Minute

// cmdWait waits for the status of values and prints what came of it:
//
//	wait [--for=STATE,...] [--prefix=PREFIX] [--txn=N] [KEY...]
func cmdWait(r *Run, args []string) (string, error) {
	flags, keys := options(args)
	req, err := waitRequest(flags, keys)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(r.T.Context(), patience)
	defer cancel()
	if err := r.Scheduler.WaitFor(ctx, req); err != nil {
		return "error: " + err.Error(), nil
	}
	return "reached", nil
}

func waitRequest(flags map[string]string, keys []string) (req api.WaitRequest, err error) {
	req.Keys = keys
	for name, value := range flags {
		switch name {
		case "for":
			for state := range strings.SplitSeq(value, ",") {
				n, ok := pb.ValueState_value[state]
				if !ok {
					return req, fmt.Errorf("--for: %q: expected a state", state)
				}
				req.States = append(req.States, pb.ValueState(n))
			}
		case "prefix":
			req.Prefixes = []string{value}
		case "txn":
			seq, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return req, fmt.Errorf("--txn: %w", err)
			}
			req.Txn = &seq
		default:
			return req, fmt.Errorf("unknown option --%s: expected --for, --prefix or --txn", name)
		}
	}
	return req, nil
}

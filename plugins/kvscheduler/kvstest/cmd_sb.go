package kvstest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

var errNoMockSB = errors.New("there is no mock southbound")

// cmdNotify edits the southbound and notifies the scheduler of it, all values
// at once: notify [--only] VALUE... With --only the southbound stays as it is.
func cmdNotify(r *Run, args []string) (string, error) {
	flags, rest := options(args)
	changes, err := r.values(rest)
	if err != nil {
		return "", err
	}
	_, only := flags["only"]
	var kvs []api.KVWithMetadata
	for _, c := range changes {
		kv := api.KVWithMetadata{Key: c.key, Value: c.value, Origin: api.FromSB}
		if !only {
			if meta := r.edit(c); meta != nil {
				kv.Metadata = meta
			}
		}
		kvs = append(kvs, kv)
	}
	if err := r.Scheduler.PushSBNotification(kvs...); err != nil {
		return "error: " + err.Error(), nil
	}
	r.Scheduler.TransactionBarrier()
	return r.news(api.SBNotification), nil
}

func (r *Run) edit(c change) *Meta {
	switch {
	case r.SB == nil:
		return nil
	case c.value == nil:
		r.SB.Remove(c.key)
		return nil
	default:
		return r.SB.Put(c.key, c.value)
	}
}

// cmdEdit changes the southbound behind the back of the scheduler.
func cmdEdit(r *Run, args []string) (string, error) {
	if r.SB == nil {
		return "", errNoMockSB
	}
	changes, err := r.values(args)
	for _, c := range changes {
		r.edit(c)
	}
	return "", err
}

// cmdFail makes an operation fail: fail create|update|delete|retrieve KEY
// [once|twice|N|always] [after] [permanent] [panic].
func cmdFail(r *Run, args []string) (string, error) {
	if r.SB == nil {
		return "", errNoMockSB
	}
	if len(args) < 2 {
		return "", errors.New("expected an operation and a key")
	}
	ops := map[string]api.TxnOperation{"create": pb.TxnOperation_CREATE, "update": pb.TxnOperation_UPDATE,
		"delete": pb.TxnOperation_DELETE, "retrieve": Retrieve}
	f := Fault{Op: ops[args[0]], Key: args[1], Times: 1}
	if f.Op == 0 {
		return "", fmt.Errorf("operation %q: expected create, update, delete or retrieve", args[0])
	}
	for _, word := range args[2:] {
		switch word {
		case "once":
		case "twice":
			f.Times = 2
		case "always":
			f.Times = 0
		case "after":
			f.After = true
		case "panic":
			f.Panic = true
		case "permanent":
			f.Err = api.Permanent(errors.New("it will never work"))
		default:
			n, err := strconv.Atoi(word)
			if err != nil {
				return "", fmt.Errorf("unknown word %q", word)
			}
			f.Times = n
		}
	}
	r.SB.Inject(f)
	return "", nil
}

// cmdHeal removes all faults.
func cmdHeal(r *Run, _ []string) (string, error) {
	if r.SB == nil {
		return "", errNoMockSB
	}
	r.SB.Heal()
	return "", nil
}

// cmdSB prints the southbound.
func cmdSB(r *Run, _ []string) (string, error) {
	if r.SB == nil {
		return "", errNoMockSB
	}
	return r.SB.String(), nil
}

// cmdCalls prints the operations that reached the southbound since the last
// time.
func cmdCalls(r *Run, _ []string) (string, error) {
	if r.SB == nil {
		return "", errNoMockSB
	}
	return strings.Join(r.SB.TakeCalls(), "\n"), nil
}

// cmdSBRestart makes the southbound lose everything.
func cmdSBRestart(r *Run, _ []string) (string, error) {
	if r.SB == nil {
		return "", errNoMockSB
	}
	r.SB.Restart()
	return "", nil
}

// cmdTick moves the clock: tick DURATION. It prints what happened meanwhile.
func cmdTick(r *Run, args []string) (string, error) {
	if r.Clock == nil {
		return "", errors.New("this world has no clock")
	}
	if len(args) != 1 {
		return "", errors.New("expected a duration")
	}
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return "", err
	}
	r.Clock.Advance(d, r.Scheduler.TransactionBarrier)
	return cmdOps(r, nil)
}

// cmdTimers prints how many timers wait.
func cmdTimers(r *Run, _ []string) (string, error) {
	if r.Clock == nil {
		return "", errors.New("this world has no clock")
	}
	return strconv.Itoa(r.Clock.Pending()), nil
}

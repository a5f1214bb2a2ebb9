package kvstest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
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

// cmdLost reports keys as lost in the southbound, whether they are or not: lost KEY...
func cmdLost(r *Run, args []string) (string, error) {
	if err := r.Scheduler.ReportLost(args...); err != nil {
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
// [once|twice|N|always] [after] [permanent] [panic] [hang] [crash=NAME]
// [hollow=KEY] [lie]. What hangs continues with "release"; a crash takes the southbound
// NAME down; a hollow retrieve returns the value of KEY without its content.
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
		if name, ok := strings.CutPrefix(word, "crash="); ok {
			f.Err = errors.New("connection lost")
			f.Crash = func() { r.Scheduler.SouthboundDown(name, f.Err) }
			continue
		}
		if key, ok := strings.CutPrefix(word, "hollow="); ok {
			f.Hollow = key
			continue
		}
		switch word {
		case "once":
		case "twice":
			f.Times = 2
		case "always":
			f.Times = 0
		case "after":
			f.After = true
		case "lie":
			f.Lie = true
		case "panic":
			f.Panic = true
		case "hang":
			f.Hang = true
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

// cmdHang waits until an operation on each of the keys hangs; of a Retrieve the
// key is the name of the descriptor.
func cmdHang(r *Run, args []string) (string, error) {
	if r.SB == nil {
		return "", errNoMockSB
	}
	for _, key := range args {
		r.SB.AwaitHang(key)
	}
	return "", nil
}

// cmdRelease lets what hangs continue, and prints what happened then.
func cmdRelease(r *Run, args []string) (string, error) {
	if r.SB == nil {
		return "", errNoMockSB
	}
	for _, key := range args {
		if !r.SB.Release(key) {
			return "", fmt.Errorf("no operation on %s hangs", key)
		}
	}
	// A callback returns in its own time.
	if s, ok := r.Scheduler.(interface{ Overdue() []exec.Call }); ok {
		for slices.ContainsFunc(s.Overdue(), func(c exec.Call) bool {
			return slices.Contains(args, c.Key) || c.Key == "" && slices.Contains(args, c.Descriptor)
		}) {
			runtime.Gosched()
		}
	}
	return cmdOps(r, nil)
}

// cmdQuarantine prints who may have brought a southbound down; quarantine
// release KEY... lets values out.
func cmdQuarantine(r *Run, args []string) (string, error) {
	if len(args) > 0 {
		if err := r.Scheduler.ReleaseQuarantined(r.T.Context(), args[1:]...); err != nil {
			return "error: " + err.Error(), nil
		}
		r.trials()
		return cmdOps(r, nil)
	}
	var text strings.Builder
	for _, s := range r.Scheduler.Suspects() {
		state := "suspect"
		if s.Quarantined {
			state = "quarantined"
		}
		fmt.Fprintf(&text, "%s %s: %s, %d\n", s.Key, state, s.Operation, len(s.Crashes))
	}
	return text.String(), nil
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

// cmdTick moves the clock: tick [--no-wait] DURATION. It prints what happened
// meanwhile, unless it shall not wait for that.
func cmdTick(r *Run, args []string) (string, error) {
	if r.Clock == nil {
		return "", errors.New("this world has no clock")
	}
	flags, rest := options(args)
	if len(rest) != 1 {
		return "", errors.New("expected a duration")
	}
	d, err := time.ParseDuration(rest[0])
	if err != nil {
		return "", err
	}
	if _, ok := flags["no-wait"]; ok {
		r.Clock.Advance(d, nil)
		return "", nil
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

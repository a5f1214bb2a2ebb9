package kvstest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// cmdDescriptor registers a descriptor of items in the mock southbound:
//
//	descriptor NAME PREFIX [metadata] [derived] [property] [obtained] [peer] [no-update] [no-retrieve] [take-over] [expected-only] [vacate]
//	           [origin=NB|SB|recorded] [after=NAME,NAME] [southbound=NAME] [concurrency=N] [batches=N]
//
// The southbound insists on dependencies, except on those on properties, which
// it does not hold, and on peers, which depend on each other.
func cmdDescriptor(r *Run, args []string) (string, error) {
	if r.SB == nil {
		return "", errors.New("there is no mock southbound")
	}
	if len(args) < 2 {
		return "", errors.New("expected name and key prefix")
	}
	if len(r.registered) == 0 {
		r.SB.RequireDependencies(r.elsewhere)
	}
	r.registered = append(r.registered, args)
	return r.register(args)
}

func (r *Run) register(args []string) (string, error) {
	var opts []DescriptorOption
	for _, word := range args[2:] {
		opt, err := descriptorOption(word)
		if err != nil {
			return "", err
		}
		if word == "property" || word == "peer" {
			r.lenient = append(r.lenient, args[1])
		}
		opts = append(opts, opt)
	}
	if err := r.Scheduler.RegisterKVDescriptor(r.SB.Descriptor(args[0], args[1], opts...)); err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), "\n", "; "), nil
	}
	r.Scheduler.TransactionBarrier()
	return r.news(api.NBTransaction), nil
}

// elsewhere reports the keys that the southbound does not insist on.
func (r *Run) elsewhere(key string) bool {
	for _, prefix := range r.lenient {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

func descriptorOption(word string) (DescriptorOption, error) {
	name, value, _ := strings.Cut(word, "=")
	plain := map[string]DescriptorOption{
		"metadata": WithMetadata(), "derived": Derived(), "derived-read": DerivedRead(), "compares-derived": ComparesDerived(), "property": Property(), "peer": func(*build) {}, "obtained": Obtained(),
		"no-update": WithoutUpdate(), "no-retrieve": WithoutRetrieve(), "take-over": TakesOver(), "expected-only": ExpectedOnly(),
		"vacate": WithVacate(), "unrecorded": Unrecorded(),
	}
	if opt := plain[name]; opt != nil {
		return opt, nil
	}
	switch name {
	case "after":
		return After(strings.Split(value, ",")...), nil
	case "southbound":
		return WithSouthbound(value), nil
	case "origin":
		origins := map[string]api.ValueOrigin{"NB": api.FromNB, "SB": api.FromSB, "recorded": api.Recorded}
		if o, ok := origins[value]; ok {
			return WithOrigin(o), nil
		}
		return nil, fmt.Errorf("origin=%s: expected NB, SB or recorded", value)
	case "concurrency", "batches":
		n, err := strconv.Atoi(value)
		if err != nil {
			return nil, fmt.Errorf("%s: expected a number", word)
		}
		if name == "batches" {
			return WithBatches(n), nil
		}
		return WithConcurrency(n), nil
	}
	return nil, fmt.Errorf("unknown kind of descriptor %q", word)
}

// cmdRestart stops the scheduler and starts a new one on the same southbound,
// with the same descriptors.
func cmdRestart(r *Run, _ []string) (string, error) {
	if r.Stop == nil {
		return "", errors.New("this world has no restart")
	}
	r.Stop()
	r.Env = r.factory(r.T, r.Env)
	r.seen, r.watch = 0, nil
	var text strings.Builder
	for _, args := range r.registered {
		out, err := r.register(args)
		if err != nil {
			return "", err
		}
		text.WriteString(out)
	}
	return text.String(), nil
}

// cmdSession notifies the scheduler about a southbound: session NAME up EPOCH, or
// session NAME down REASON.
func cmdSession(r *Run, args []string) (string, error) {
	if len(args) != 3 {
		return "", errors.New("expected NAME up EPOCH or NAME down REASON")
	}
	switch args[1] {
	case "up":
		epoch, err := strconv.ParseUint(args[2], 10, 64)
		if err != nil {
			return "", fmt.Errorf("epoch %q: expected a number", args[2])
		}
		r.Scheduler.SouthboundUp(args[0], epoch)
	case "down":
		r.Scheduler.SouthboundDown(args[0], errors.New(args[2]))
	default:
		return "", fmt.Errorf("expected up or down, not %q", args[1])
	}
	r.trials()
	return cmdOps(r, nil)
}

// trials waits until all suspects had their trial; each begins when the one
// before it ended, and the southbound may go down with the last. An acquitted
// value is no longer a suspect.
func (r *Run) trials() {
	most := 0
	for i := 0; i < most+2; i++ {
		most = max(most, len(r.Scheduler.Suspects()))
		r.Scheduler.TransactionBarrier()
	}
}

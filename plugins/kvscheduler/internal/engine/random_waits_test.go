package engine_test

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// waits checks after a transaction that what lacks something waits for it, whatever
// failed before and however that is retried. Values that failed just now, or must not be
// touched now, keep their failure.
func (s *simulation) waits(now *api.TransactionError) {
	if len(s.c.Overdue())+len(s.c.Suspects())+len(s.c.Unread()) > 0 {
		return
	}
	just := map[string]bool{}
	if now != nil {
		for _, failure := range now.GetKVErrors() {
			just[failure.Key] = true
		}
	}
	for _, status := range s.c.ListValueStatus("") {
		if failed(status.Value) {
			s.lacksNothing(status.Value, just)
			continue // and its derived values may come from an earlier value
		}
		for _, v := range status.DerivedValues {
			s.lacksNothing(v, just)
		}
	}
}

func failed(v *api.ValueStatus) bool {
	return v.State == kvscheduler.ValueState_FAILED || v.State == kvscheduler.ValueState_RETRYING
}

func (s *simulation) lacksNothing(v *api.ValueStatus, just map[string]bool) {
	if !failed(v) || just[v.Key] || v.LastOperation != kvscheduler.TxnOperation_CREATE { // it went, and that failed
		return
	}
	if missing, lacks := s.lacks(v.Key); lacks {
		s.fatal("%s is %v %s, and lacks %s", v.Key, v.State, v.Error, missing)
	}
}

// lacks returns what a value that is desired and does not exist depends on in vain.
func (s *simulation) lacks(key string) (missing string, lacks bool) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	base, _ := baseOfDerived(key)
	it := s.o.inForce(base)
	if it == nil || s.w.exists[key] != nil || s.reach.cyclic(key) { // in a cycle it waits for itself
		return "", false
	}
	for _, d := range it.Derived {
		if d.Key == key {
			return s.unmet(d.Item)
		}
	}
	if base != key {
		return "", false
	}
	return s.unmet(it)
}

func (s *simulation) unmet(it *model.Item) (missing string, lacks bool) {
	missing, met := s.w.met(it, "")
	return missing, !met
}

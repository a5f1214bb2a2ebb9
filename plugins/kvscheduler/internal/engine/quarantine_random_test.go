package engine_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// kill makes the southbound of the session crash during an operation, if it gets one,
// and reconnects it. Only a value that crashes it twice may get into quarantine.
func (s *simulation) kill() {
	if s.o.down {
		s.session()
	}
	s.converge()
	if rapid.IntRange(0, 3).Draw(s.T, "guilty") == 0 {
		s.guilty()
		return
	}
	values := map[string]*model.Item{}
	for range rapid.IntRange(1, 4).Draw(s.T, "changes") {
		key := rapid.SampledFrom(baseKeys).Draw(s.T, "key")
		values[key] = nil
		if rapid.IntRange(0, 3).Draw(s.T, "delete") > 0 {
			values[key] = drawItem(s.T, key)
		}
	}
	s.log("kill")
	hangs := s.hangs
	s.hangs = false
	s.w.mu.Lock()
	s.w.kill = func() { s.c.SouthboundDown("s", errInjected) }
	s.w.mu.Unlock()
	s.w.cyclic = func(string) bool { return true } // others are stranded for now
	_ = s.commit(values, api.WithRetryMaxCount(0))
	s.w.mu.Lock()
	died := s.w.kill == nil
	s.w.kill = nil
	s.w.mu.Unlock()
	s.want(values)
	if died {
		s.died()
		s.session()
	}
	s.converge()
	s.w.cyclic = s.reach.cyclic
	s.hangs = hangs
	if left := s.c.Suspects(); len(left) > 0 {
		s.fatal("still suspected: %v", left)
	}
}

// died is the news that the southbound of the session died of an operation. The
// scheduler may be restarted before it is back: who is suspected is on record.
func (s *simulation) died() {
	s.w.fault("session down during an operation")
	s.o.down = true
	s.barrier()
	if s.journal == nil || rapid.Bool().Draw(s.T, "continues") {
		return
	}
	before := fmt.Sprint(s.c.Suspects())
	s.restart()
	if after := fmt.Sprint(s.c.Suspects()); after != before {
		s.fatal("suspects before a restart: %s\nafter it: %s", before, after)
	}
}

// guiltyKey is not among the values that change at random.
const guiltyKey = "c/9"

// guilty is a value that its southbound dies of until it is in quarantine. That
// ends when it is changed, given up or released.
func (s *simulation) guilty() {
	if s.w.rules.of(guiltyKey) != registry.Managed {
		return
	}
	s.log("guilty")
	rate, hangs, jumps := s.rate, s.hangs, s.jumps
	s.rate, s.hangs, s.jumps = 0, false, false
	s.w.cyclic = func(string) bool { return true }
	first := map[string]*model.Item{guiltyKey: {Value: int64(len(s.steps))}}
	s.o.barred = guiltyKey
	for crashes := range 2 {
		s.w.mu.Lock()
		s.w.kill, s.w.killOnly = func() { s.c.SouthboundDown("s", errInjected) }, guiltyKey
		s.w.mu.Unlock()
		if crashes == 0 {
			_ = s.commit(first, api.WithRetryMaxCount(0))
			s.want(first)
		} else {
			s.comeUp()
		}
		s.died()
	}
	s.w.killOnly = ""
	s.inQuarantine()
	mark := s.w.mark()
	s.comeUp()
	s.inQuarantine()
	if did := s.w.since(mark); strings.Contains(fmt.Sprint(did), guiltyKey) {
		s.fatal("in quarantine it is touched: %q", did)
	}
	if s.journal != nil && rapid.Bool().Draw(s.T, "restart") {
		s.restart()
		s.inQuarantine()
	}
	s.acquit()
	s.o.barred = ""
	s.rate, s.hangs, s.jumps = rate, hangs, jumps
	s.converge()
	s.w.cyclic = s.reach.cyclic
	if left := s.c.Suspects(); len(left) > 0 {
		s.fatal("still suspected: %v", left)
	}
}

// comeUp is a new life of the southbound, and the trials that follow.
func (s *simulation) comeUp() {
	s.epoch++
	s.o.down, s.settled = false, false
	s.w.revive()
	s.c.SouthboundUp("s", s.epoch)
	s.barrier()
	for range 10 { // it may have to be read again first
		for range s.c.Suspects() {
			s.barrier()
		}
		if s.w.injured() {
			return
		}
		s.clock.fireOnce()
		s.barrier()
	}
}

// inQuarantine checks that exactly the guilty value is in quarantine.
func (s *simulation) inQuarantine() {
	all := s.c.Suspects()
	if len(all) != 1 || all[0].Key != guiltyKey || !all[0].Quarantined || len(all[0].Crashes) != 2 {
		s.fatal("expected %s to be in quarantine: %v", guiltyKey, all)
	}
	status := s.c.GetValueStatus(guiltyKey).GetValue()
	if status.GetState() != kvscheduler.ValueState_FAILED || !strings.Contains(status.GetError(), "quarantined") {
		s.fatal("%s is in quarantine; its status is %v %s", guiltyKey, status.GetState(), status.GetError())
	}
}

// acquit ends the quarantine in one of the ways there are.
func (s *simulation) acquit() {
	way := rapid.SampledFrom([]string{"release", "change", "delete", "resync"}).Draw(s.T, "way out")
	s.log("way out: %s", way)
	values := map[string]*model.Item{guiltyKey: nil}
	switch way {
	case "release":
		s.await(func() {
			if err := s.c.ReleaseQuarantined(s.Context(), guiltyKey); err != nil {
				s.fatal("release: %v", err)
			}
		})
		s.barrier()
		return
	case "change":
		values[guiltyKey] = &model.Item{Value: -1}
		fallthrough
	case "delete":
		_ = s.commit(values, api.WithRetryMaxCount(0))
		s.want(values)
	default: // no longer named
		s.want(values)
		s.resync(api.FullResync)
	}
}

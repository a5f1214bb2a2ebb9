package kvscheduler

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
)

// StateDirFlag is the flag of Config.StateDir; it wins over the file. In the
// environment it is STATE_DIR.
const StateDirFlag = "state-dir"

// DefineFlags adds --state-dir.
func (s *Scheduler) DefineFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.stateDir, StateDirFlag, "", "`directory` that keeps, over restarts, what the agent made and what it was asked for (empty: in memory)")
}

// Labeller reports the label of the agent.
type Labeller interface{ GetAgentLabel() string }

// openState opens the state directory, if there is one.
func (s *Scheduler) openState() error {
	report := s.Health.Scope(StateDirFlag)
	dir := s.StateDirectory()
	if dir == "" {
		s.Log.Info("what the agent made and what it was asked for is kept in memory only; state-dir keeps it over restarts")
		report.OK("in memory only")
		return nil
	}
	store, err := ownership.Open(ownership.Options{
		Dir: dir, Holder: s.holder(), Label: s.label(), From: s.cfg.StateDirFrom, Now: s.now,
		Warn: func(text string) { s.Log.Warn("the state directory", "problem", text) },
		Report: func(problem error) {
			switch {
			case errors.Is(problem, ownership.ErrSetAside):
				report.Degraded("what earlier runs kept was lost", problem)
			case problem != nil:
				report.Degraded("nothing is kept over a restart until this is repaired", problem)
			default:
				s.Log.Info("the state directory is as it should be again", "state-dir", dir)
				report.OK("kept in " + dir)
			}
		},
	})
	if err != nil {
		return err // it names state-dir
	}
	switch problem := store.Problem(); {
	case errors.Is(problem, ownership.ErrSetAside):
		s.Log.Error("the state directory was damaged; the agent starts without a record", "state-dir", dir, "error", problem)
	case problem != nil:
		s.Log.Error("the state directory cannot be used; the agent continues without it, and retries", "state-dir", dir, "error", problem)
	default:
		s.Log.Info("what the agent made and what it was asked for is kept over restarts", "state-dir", dir)
		report.OK("kept in " + dir)
	}
	s.store = store
	return nil
}

func (s *Scheduler) holder() string {
	who := filepath.Base(os.Args[0])
	if label := s.label(); label != "" {
		who += ", agent " + label
	}
	return who
}

func (s *Scheduler) label() string {
	if s.Label == nil {
		return ""
	}
	return s.Label.GetAgentLabel()
}

// StateDirectory returns the state-dir; empty without one, and before Init.
func (s *Scheduler) StateDirectory() string {
	if s.stateDir != "" {
		return s.stateDir
	}
	return s.cfg.StateDir
}

// KeepsState reports whether there is a state-dir; known when Init has run.
func (s *Scheduler) KeepsState() bool { return s.store != nil }

// LoadState returns the values that SaveState stored under a name, in this process or an
// earlier one; nothing without a state-dir.
func (s *Scheduler) LoadState(name string) (map[string][]byte, error) {
	if s.store == nil {
		return nil, nil
	}
	return s.store.LoadState(name)
}

// EachState calls f with the values that SaveState stored under a name, sorted by key,
// without holding all of it in memory. The data is valid until f returns. f must not
// call the scheduler.
func (s *Scheduler) EachState(name string, f func(key string, data []byte)) error {
	if s.store == nil {
		return nil
	}
	return s.store.EachState(name, f)
}

// SaveState keeps values under a name, as a whole: with all, what was kept
// before and is not in put is dropped. A nil value deletes its key. Without a
// state-dir nothing is kept.
func (s *Scheduler) SaveState(name string, put map[string][]byte, all bool) error {
	if s.store == nil {
		return nil
	}
	return s.store.SaveState(name, put, all)
}

// Close stops the scheduler and lets go of the state directory. The error names
// the callbacks that did not return and are left behind.
func (s *Scheduler) Close() error {
	s.StopGoroutines()
	err := s.leftBehind()
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	return err
}

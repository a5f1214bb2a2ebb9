package supervisor

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/tenuto-dev/tenuto/infra/process"
)

// signals forwards signals to the programs that request them. After SIGHUP it
// reopens the log files, for log rotation.
type signals struct {
	plugin *Plugin
	ch     chan os.Signal
	done   chan struct{}
	to     map[os.Signal][]*program
}

func startSignals(p *Plugin) *signals {
	s := &signals{plugin: p, ch: make(chan os.Signal, 16), done: make(chan struct{}), to: map[os.Signal][]*program{syscall.SIGHUP: nil}}
	for _, prog := range p.programs {
		for _, name := range prog.ForwardSignals {
			if sig, err := signalOf(name); err == nil { // the configuration was validated
				s.to[sig] = append(s.to[sig], prog)
			}
		}
	}
	for sig := range s.to {
		signal.Notify(s.ch, sig)
	}
	go s.serve()
	return s
}

func (s *signals) stop() {
	signal.Stop(s.ch)
	close(s.ch)
	<-s.done
}

func (s *signals) serve() {
	defer close(s.done)
	for sig := range s.ch {
		if sig == syscall.SIGHUP {
			s.reopen()
		}
		for _, prog := range s.to[sig] {
			err := prog.proc.Signal(sig)
			switch {
			case errors.Is(err, process.ErrNotRunning):
				s.plugin.Log.Debug("signal for a program that does not run", "name", prog.Name, "signal", sig.String())
			case err != nil:
				s.plugin.Log.Warn("cannot forward a signal", "name", prog.Name, "signal", sig.String(), "error", err)
			default:
				s.plugin.Log.Info("forwarded a signal", "name", prog.Name, "signal", sig.String())
			}
		}
	}
}

func (s *signals) reopen() {
	for _, prog := range s.plugin.programs {
		if prog.log == nil {
			continue
		}
		if err := prog.log.Reopen(); err != nil {
			s.plugin.Log.Warn("cannot reopen the log file; using the previous one", "name", prog.Name, "error", err)
		}
	}
}

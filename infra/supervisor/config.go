package supervisor

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/infra/process"
)

// Config is the file supervisor.conf. It is required.
type Config struct {
	Programs        []Program     `json:"programs" desc:"what to run; started in this order, stopped in the reverse order"`
	Hooks           []Hook        `json:"hooks" desc:"commands to run when a program starts or ends, one after the other; SUPERVISOR_PROCESS_NAME, SUPERVISOR_PROCESS_STATE (running, waiting, terminated), SUPERVISOR_PROCESS_STATUS (the exit code of one that ended) and SUPERVISOR_EVENT_TYPE (ProcessStatus) in their environment say what happened"`
	HookTimeout     time.Duration `json:"hook-timeout" desc:"how long a hook may take; it is stopped then"`
	CPUAffinityMask string        `json:"sv-cpu-affinity-mask" desc:"hexadecimal mask of the processors of the supervisor and of programs that have none of their own; empty: all that there are"`
}

// Program is one program to run.
type Program struct {
	Name           string   `json:"name" desc:"what the program is called in logs and hooks"`
	ExecutablePath string   `json:"executable-path" desc:"file to execute; looked up in PATH if it has no slash"`
	ExecutableArgs []string `json:"executable-args" desc:"its arguments; it must stay in the foreground (unix { nodaemon } for VPP)"`
	Directory      string   `json:"directory" desc:"where it runs; empty: where the supervisor does"`
	Environment    []string `json:"environment" secret:"true" desc:"variables, each as NAME=value, besides those of the supervisor"`
	LogfilePath    string   `json:"logfile-path" desc:"file that its output is appended to, opened again after SIGHUP; empty: the output of the supervisor"`

	Restarts        int           `json:"restarts" desc:"how often it is started again when it ends by itself, one time after the other; -1: always"`
	RestartDelay    time.Duration `json:"restart-delay" desc:"pause before the first restart, which doubles with each; 0s: 1s"`
	MaxRestartDelay time.Duration `json:"max-restart-delay" desc:"the longest pause before a restart; 0s: 30s"`
	SteadyAfter     time.Duration `json:"steady-after" desc:"restarts are counted anew for a program that ran for so long; 0s: 1m0s"`
	Optional        bool          `json:"optional" desc:"go on without the program when it failed and is not started again; else all others are stopped then, and the supervisor ends with its exit code"`

	StopSignal     string        `json:"stop-signal" desc:"signal that asks it to end; empty: SIGTERM"`
	StopTimeout    time.Duration `json:"stop-timeout" desc:"how long it may take to end when it is asked to; it is killed then; 0s: 5s"`
	ForwardSignals []string      `json:"forward-signals" desc:"signals (SIGHUP, SIGUSR1, ...) that are passed on from the supervisor; none by default, because they end a program that does not expect them, VPP for one"`

	CPUAffinityMask  string        `json:"cpu-affinity-mask" desc:"hexadecimal mask of the processors it may use"`
	CPUAffinityList  string        `json:"cpu-affinity-list" desc:"the same as numbers and ranges: 0,4-6"`
	CPUAffinityDelay time.Duration `json:"cpu-affinity-setup-delay" desc:"when to set them, after the start; 0s: from the start"`
}

// Hook is a command that is told what happens.
type Hook struct {
	Cmd  string   `json:"cmd" desc:"file to execute; looked up in PATH if it has no slash"`
	Args []string `json:"cmd-args" desc:"its arguments"`
}

// DefaultConfig returns the values of keys that are not in the file.
func DefaultConfig() Config { return Config{HookTimeout: 10 * time.Second} }

// Validate says what is wrong with the configuration besides types.
func (c Config) Validate() error {
	var errs []error
	fail := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %w", field, fmt.Errorf(format, args...)))
	}
	names := map[string]bool{}
	for i, p := range c.Programs {
		field := func(key string) string { return fmt.Sprintf("programs[%d].%s", i, key) }
		switch {
		case p.Name == "" || strings.ContainsAny(p.Name, " /\t\n"):
			fail(field("name"), "%q: expected a name without spaces and slashes", p.Name)
		case names[p.Name]:
			fail(field("name"), "%q is there twice", p.Name)
		}
		names[p.Name] = true
		p.validate(field, fail)
	}
	for i, h := range c.Hooks {
		if h.Cmd == "" {
			fail(fmt.Sprintf("hooks[%d].cmd", i), "expected a file to execute")
		}
	}
	if c.HookTimeout <= 0 {
		fail("hook-timeout", "expected a duration above 0, got %v", c.HookTimeout)
	}
	if _, err := cpus(c.CPUAffinityMask, ""); err != nil {
		fail("sv-cpu-affinity-mask", "%w", err)
	}
	return errors.Join(errs...)
}

func (p Program) validate(field func(key string) string, fail func(field, format string, args ...any)) {
	if p.ExecutablePath == "" {
		fail(field("executable-path"), "expected a file to execute")
	}
	if p.Restarts < process.Forever {
		fail(field("restarts"), "expected a number, or -1 for always, got %d", p.Restarts)
	}
	for key, d := range map[string]time.Duration{
		"restart-delay": p.RestartDelay, "max-restart-delay": p.MaxRestartDelay, "steady-after": p.SteadyAfter,
		"stop-timeout": p.StopTimeout, "cpu-affinity-setup-delay": p.CPUAffinityDelay,
	} {
		if d < 0 {
			fail(field(key), "expected a duration that is not negative, got %v", d)
		}
	}
	for i, e := range p.Environment {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" { // without the text, which may be a secret
			fail(fmt.Sprintf("%s[%d]", field("environment"), i), "expected NAME=value")
		}
	}
	if _, err := signalOf(p.StopSignal); p.StopSignal != "" && err != nil {
		fail(field("stop-signal"), "%w", err)
	}
	for i, s := range p.ForwardSignals {
		sig, err := signalOf(s)
		switch {
		case err != nil:
			fail(fmt.Sprintf("%s[%d]", field("forward-signals"), i), "%w", err)
		case reserved[sig]:
			fail(fmt.Sprintf("%s[%d]", field("forward-signals"), i), "%s is not passed on: it stops the supervisor, or belongs to the kernel", s)
		}
	}
	if _, err := cpus(p.CPUAffinityMask, p.CPUAffinityList); err != nil {
		fail(field("cpu-affinity-mask"), "%w", err)
	}
}

// reserved are the signals that stop the supervisor, that cannot be caught, or
// that the kernel and the Go runtime send for reasons of their own.
var reserved = map[syscall.Signal]bool{
	syscall.SIGINT: true, syscall.SIGTERM: true, syscall.SIGKILL: true, syscall.SIGSTOP: true, syscall.SIGCHLD: true,
	syscall.SIGPIPE: true, syscall.SIGURG: true, syscall.SIGPROF: true, syscall.SIGSEGV: true, syscall.SIGBUS: true,
	syscall.SIGFPE: true, syscall.SIGILL: true, syscall.SIGTRAP: true, syscall.SIGABRT: true,
}

// signalOf reads the name of a signal, with or without SIG.
func signalOf(name string) (syscall.Signal, error) {
	full := strings.ToUpper(name)
	if !strings.HasPrefix(full, "SIG") {
		full = "SIG" + full
	}
	if s := unix.SignalNum(full); s != 0 {
		return s, nil
	}
	return 0, fmt.Errorf("unknown signal %q: expected a name such as SIGTERM", name)
}

// cpus reads one of two ways to say which processors; nil if there is none.
func cpus(mask, list string) (process.CPUs, error) {
	switch {
	case mask != "" && list != "":
		return nil, errors.New("expected a mask or a list (cpu-affinity-list) of processors, got both")
	case mask != "":
		return process.ParseCPUMask(mask)
	case list != "":
		return process.ParseCPUList(list)
	}
	return nil, nil
}

// spec returns what to run; the configuration was validated.
func (p Program) spec() (process.Spec, error) {
	affinity, err := cpus(p.CPUAffinityMask, p.CPUAffinityList)
	if err != nil {
		return process.Spec{}, err
	}
	var stop syscall.Signal
	if p.StopSignal != "" {
		if stop, err = signalOf(p.StopSignal); err != nil {
			return process.Spec{}, err
		}
	}
	return process.Spec{
		Name: p.Name, Path: p.ExecutablePath, Args: p.ExecutableArgs, Dir: p.Directory, Env: p.Environment,
		Restart:    process.Restart{Max: p.Restarts, First: p.RestartDelay, Longest: p.MaxRestartDelay, Steady: p.SteadyAfter},
		StopSignal: stop, StopTimeout: p.StopTimeout,
		Affinity: affinity, AffinityDelay: p.CPUAffinityDelay,
	}, nil
}

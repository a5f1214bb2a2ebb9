package supervisor

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/process"
)

// Config is the file supervisor.conf. It is required.
type Config struct {
	Programs        []Program     `json:"programs" desc:"programs to run; started in this order, stopped in the reverse order"`
	Hooks           []Hook        `json:"hooks" desc:"commands to run when a program starts or ends, one after the other; SUPERVISOR_PROCESS_NAME, SUPERVISOR_PROCESS_STATE (running, waiting, terminated), SUPERVISOR_PROCESS_STATUS (the exit code of one that ended) and SUPERVISOR_EVENT_TYPE (ProcessStatus) in their environment say what happened"`
	HookTimeout     time.Duration `json:"hook-timeout" desc:"timeout of a hook, after which it is stopped"`
	CPUAffinityMask string        `json:"sv-cpu-affinity-mask" desc:"hexadecimal mask of the CPUs of the supervisor and of programs without their own mask; empty: all CPUs"`
}

// Program is one program to run.
type Program struct {
	Name           string   `json:"name" desc:"name of the program in logs and hooks"`
	ExecutablePath string   `json:"executable-path" desc:"file to execute; looked up in PATH if it has no slash"`
	ExecutableArgs []string `json:"executable-args" desc:"its arguments; it must stay in the foreground (unix { nodaemon } for VPP)"`
	Directory      string   `json:"directory" desc:"its working directory; empty: the supervisor's"`
	Environment    []string `json:"environment" secret:"true" desc:"environment variables, each as NAME=value, in addition to the supervisor's"`
	LogfilePath    string   `json:"logfile-path" desc:"file that its output is appended to, reopened after SIGHUP; empty: the output of the supervisor"`

	Restarts        int           `json:"restarts" desc:"maximum number of consecutive restarts when it ends by itself; -1: no limit"`
	RestartDelay    time.Duration `json:"restart-delay" desc:"delay of the first restart, which doubles with each; 0s: 1s"`
	MaxRestartDelay time.Duration `json:"max-restart-delay" desc:"maximum delay of a restart; 0s: 30s"`
	SteadyAfter     time.Duration `json:"steady-after" desc:"the count of restarts is reset when the program ran for this time; 0s: 1m0s"`
	Optional        bool          `json:"optional" desc:"continue without the program when it failed and is not restarted; otherwise all others are stopped, and the supervisor exits with its exit code"`

	StopSignal     string        `json:"stop-signal" desc:"signal that stops it; empty: SIGTERM"`
	StopTimeout    time.Duration `json:"stop-timeout" desc:"how long it may take to stop before it is killed; 0s: 5s"`
	ForwardSignals []string      `json:"forward-signals" desc:"signals (SIGHUP, SIGUSR1, ...) that the supervisor forwards; none by default, because they end a program that does not handle them, such as VPP"`

	CPUAffinityMask  string        `json:"cpu-affinity-mask" desc:"hexadecimal mask of the CPUs it may use"`
	CPUAffinityList  string        `json:"cpu-affinity-list" desc:"the same as a list of numbers and ranges: 0,4-6"`
	CPUAffinityDelay time.Duration `json:"cpu-affinity-setup-delay" desc:"delay after the start before the affinity is set; 0s: it is set before the start"`
}

// Hook is a command that runs when the state of a program changes.
type Hook struct {
	Cmd  string   `json:"cmd" desc:"file to execute; looked up in PATH if it has no slash"`
	Args []string `json:"cmd-args" desc:"its arguments"`
}

// DefaultConfig returns the defaults of the configuration file.
func DefaultConfig() Config { return Config{HookTimeout: 10 * time.Second} }

// Validate returns the errors in the configuration besides types.
func (c Config) Validate() error {
	var check config.Checks
	names := map[string]bool{}
	for i, p := range c.Programs {
		key := fmt.Sprintf("programs[%d].", i)
		check.Expect(p.Name != "" && !strings.ContainsAny(p.Name, " /\t\n"), "%sname: %q: expected a name without spaces and slashes", key, p.Name)
		check.Expect(p.Name == "" || !names[p.Name], "%sname: duplicate %q", key, p.Name)
		names[p.Name] = true
		p.check(key, &check)
	}
	for i, h := range c.Hooks {
		check.Expect(h.Cmd != "", "hooks[%d].cmd: expected a file to execute", i)
	}
	check.Expect(c.HookTimeout > 0, "hook-timeout: expected a duration above 0, got %v", c.HookTimeout)
	_, err := cpus(c.CPUAffinityMask, "")
	check.Expect(err == nil, "sv-cpu-affinity-mask: %w", err)
	return check.Err()
}

// check checks a program, whose keys begin with key.
func (p Program) check(key string, check *config.Checks) {
	check.Expect(p.ExecutablePath != "", "%sexecutable-path: expected a file to execute", key)
	check.Expect(p.Restarts >= process.Forever, "%srestarts: expected a number, or -1 for always, got %d", key, p.Restarts)
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"restart-delay", p.RestartDelay}, {"max-restart-delay", p.MaxRestartDelay}, {"steady-after", p.SteadyAfter},
		{"stop-timeout", p.StopTimeout}, {"cpu-affinity-setup-delay", p.CPUAffinityDelay},
	} {
		check.Expect(d.value >= 0, "%s%s: expected a duration that is not negative, got %v", key, d.key, d.value)
	}
	for i, e := range p.Environment { // the error omits the text, which may be a secret
		check.Expect(strings.Index(e, "=") > 0, "%senvironment[%d]: expected NAME=value", key, i)
	}
	_, err := signalOf(p.StopSignal)
	check.Expect(p.StopSignal == "" || err == nil, "%sstop-signal: %w", key, err)
	for i, s := range p.ForwardSignals {
		sig, err := signalOf(s)
		check.Expect(err == nil, "%sforward-signals[%d]: %w", key, i, err)
		check.Expect(!reserved[sig], "%sforward-signals[%d]: %s cannot be forwarded: it stops the supervisor, or is used by the kernel", key, i, s)
	}
	_, err = cpus(p.CPUAffinityMask, p.CPUAffinityList)
	check.Expect(err == nil, "%scpu-affinity-mask: %w", key, err)
}

// reserved are the signals that stop the supervisor, that cannot be caught, or
// that the kernel and the Go runtime send themselves.
var reserved = map[syscall.Signal]bool{
	syscall.SIGINT: true, syscall.SIGTERM: true, syscall.SIGKILL: true, syscall.SIGSTOP: true, syscall.SIGCHLD: true,
	syscall.SIGPIPE: true, syscall.SIGURG: true, syscall.SIGPROF: true, syscall.SIGSEGV: true, syscall.SIGBUS: true,
	syscall.SIGFPE: true, syscall.SIGILL: true, syscall.SIGTRAP: true, syscall.SIGABRT: true,
}

// signalOf parses the name of a signal, with or without SIG.
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

// cpus parses a mask or a list of CPUs; nil if both are empty.
func cpus(mask, list string) (process.CPUs, error) {
	switch {
	case mask != "" && list != "":
		return nil, errors.New("expected a mask or a list (cpu-affinity-list) of CPUs, got both")
	case mask != "":
		return process.ParseCPUMask(mask)
	case list != "":
		return process.ParseCPUList(list)
	}
	return nil, nil
}

// spec returns the process specification; the configuration was validated.
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

package agent

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Errors of the agent's methods; use errors.Is.
var (
	// ErrNotStarted is returned by Stop and Wait before Start was called.
	ErrNotStarted = errors.New("agent: not started")
	// ErrStartedTwice is returned by Start when it was called before; an agent
	// can be started only once.
	ErrStartedTwice = errors.New("agent: started before")
	// ErrNoStart is returned by Start if the command line asks for output instead of a start,
	// such as --help.
	ErrNoStart = errors.New("agent: not started, the command line asks for output only")
	// ErrInterrupted is wrapped by the error of a start that was interrupted.
	ErrInterrupted = errors.New("interrupted")
	// ErrTimeout is wrapped by the errors of a start or a stop that timed out.
	ErrTimeout = errors.New("timed out")
)

// PluginError is the failure of one callback of one plugin.
type PluginError struct {
	Plugin string
	Phase  Phase
	Err    error
}

// Error names the plugin and the phase.
func (e *PluginError) Error() string {
	return fmt.Sprintf("plugin %s: %s: %v", e.Plugin, e.Phase, e.Err)
}

// Unwrap returns the error of the callback.
func (e *PluginError) Unwrap() error { return e.Err }

// panicError is a recovered panic.
type panicError struct {
	value any
	stack string
}

func newPanicError(value any) *panicError {
	return &panicError{value, string(debug.Stack())}
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

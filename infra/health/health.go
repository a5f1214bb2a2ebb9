// Package health keeps the status tree of an agent: every plugin reports its
// own state and the states of its parts, each with a reason, a time and,
// derived from the dependencies of plugins, a cause.
package health

// Reporter reports the state of one plugin or of one part of it. All methods
// may be called concurrently and never block.
type Reporter interface {
	// Starting reports that what belongs to the start of the plugin goes on after
	// its AfterInit ("waits for the state of etcd"): the agent is not ready yet.
	Starting(reason string)
	// OK reports that everything works; msg is a short remark ("connected to VPP 25.10").
	OK(msg string)
	// Degraded reports that the plugin runs but cannot do all of its work now
	// ("vpp: disconnected"); it expects to recover by itself.
	Degraded(reason string, err error)
	// Failed reports that the plugin cannot do its work until someone acts.
	Failed(reason string, err error)
	// Scope returns the reporter of a named part; the state of a plugin is the
	// worst of its own and those of its parts.
	Scope(name string) Reporter
	// Close removes this scope from the tree.
	Close()
}

type discard struct{}

// Discard returns a Reporter that forgets everything it is told.
func Discard() Reporter { return discard{} }

func (discard) Starting(string)        {}
func (discard) OK(string)              {}
func (discard) Degraded(string, error) {}
func (discard) Failed(string, error)   {}
func (discard) Scope(string) Reporter  { return discard{} }
func (discard) Close()                 {}

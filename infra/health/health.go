// Package health keeps the status tree of an agent. Every plugin reports its
// own state and the states of its parts, each with a reason and a time. The
// tree derives causes from the dependencies of plugins.
package health

// Reporter reports the state of one plugin or of one part of it. All methods
// may be called concurrently and never block.
type Reporter interface {
	// Starting reports that the start of the plugin continues after its AfterInit
	// ("waits for the state of etcd"): the agent is not ready yet.
	Starting(reason string)
	// OK reports that everything works; msg is a short remark ("connected to VPP 25.10").
	OK(msg string)
	// Degraded reports that the plugin runs but currently cannot do all of its
	// work ("vpp: disconnected"). It expects to recover by itself.
	Degraded(reason string, err error)
	// Failed reports that the plugin cannot do its work until an operator acts.
	Failed(reason string, err error)
	// Scope returns the reporter of a named part; the state of a plugin is the
	// worst of its own state and the states of its parts.
	Scope(name string) Reporter
	// Close removes this scope from the tree.
	Close()
}

type discard struct{}

// Discard returns a Reporter that ignores all reports.
func Discard() Reporter { return discard{} }

func (discard) Starting(string)        {}
func (discard) OK(string)              {}
func (discard) Degraded(string, error) {}
func (discard) Failed(string, error)   {}
func (discard) Scope(string) Reporter  { return discard{} }
func (discard) Close()                 {}

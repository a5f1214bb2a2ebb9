package agent

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
)

// The profile labels of goroutines that callbacks of plugins start.
const (
	agentLabel  = "agent"
	pluginLabel = "plugin"
)

// Label identifies the agent in goroutine profiles. The goroutines started by
// callbacks of its plugins have it as the label "agent", and the name of the
// plugin as the label "plugin".
func (a *Agent) Label() string { return fmt.Sprintf("%s-%p", a.opts.build.App, a) }

// Goroutines returns the running goroutines that callbacks of the agent's
// plugins started, as entries of the goroutine profile with labels and stacks.
func (a *Agent) Goroutines() []string { return goroutines(agentLabel, a.Label()) }

// goroutines returns the entries of the goroutine profile that have all the
// given labels, which are pairs of names and values.
func goroutines(labels ...string) []string {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return []string{err.Error()}
	}
	var found []string
entries:
	for entry := range strings.SplitSeq(b.String(), "\n\n") {
		for i := 0; i < len(labels); i += 2 {
			if !strings.Contains(entry, fmt.Sprintf("%q:%q", labels[i], labels[i+1])) {
				continue entries
			}
		}
		found = append(found, entry)
	}
	return found
}

// stackOf returns the stack of one goroutine, with the values of arguments. id
// is what goroutineID returned in that goroutine.
func stackOf(id string) string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for dump := range bytes.SplitSeq(buf, []byte("\n\n")) {
		if bytes.HasPrefix(dump, []byte(id)) {
			return string(dump)
		}
	}
	return ""
}

// goroutineID returns the prefix of the calling goroutine in stack dumps
// ("goroutine 7 ").
func goroutineID() string {
	buf := make([]byte, 64)
	head := string(buf[:runtime.Stack(buf, false)])
	id, _, _ := strings.Cut(head, "[")
	return id
}

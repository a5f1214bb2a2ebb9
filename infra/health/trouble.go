package health

import "strings"

// Number returns the state of the predecessor's messages: 0 (INIT), 1 (OK and
// DISABLED) or 2 (ERROR and DEGRADED).
func (s State) Number() int {
	switch s {
	case Degraded:
		return int(Error)
	case Disabled:
		return int(OK)
	}
	return int(s)
}

// Trouble describes the failure of a plugin, or of the first of its parts that
// is not well. It is empty if the plugin is well or still starting.
func (s Status) Trouble() string {
	if s.State.Well() || s.State == Init {
		return ""
	}
	switch {
	case s.Own.Well() || s.Own == Init:
		for _, p := range s.Parts {
			if p.State == s.State {
				return p.Name + ": " + p.Trouble()
			}
		}
	case s.Reason == "":
		return s.Error
	case s.Error != "":
		return s.Reason + ": " + s.Error
	}
	return s.Reason
}

// Causes names the other plugins that cause the failure. It is empty if the
// plugin itself is the cause.
func (s Status) Causes() string {
	var others []string
	for _, cause := range s.CausedBy {
		if !strings.HasPrefix(cause, s.Name+"/") {
			others = append(others, cause)
		}
	}
	return strings.Join(others, ", ")
}

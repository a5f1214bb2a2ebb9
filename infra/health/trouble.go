package health

import "strings"

// Number is the state as clients of the predecessor know it: 0 (INIT), 1 (OK,
// which DISABLED counts as) or 2 (ERROR, which DEGRADED counts as).
func (s State) Number() int {
	switch s {
	case Degraded:
		return int(Error)
	case Disabled:
		return int(OK)
	}
	return int(s)
}

// Trouble says in one text what is wrong, with a plugin or with the first of its
// parts that is not well; empty: nothing, or the plugin is about to start.
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

// Causes names what is behind the trouble, where that is another plugin; empty:
// it is nobody else's.
func (s Status) Causes() string {
	var others []string
	for _, cause := range s.CausedBy {
		if !strings.HasPrefix(cause, s.Name+"/") {
			others = append(others, cause)
		}
	}
	return strings.Join(others, ", ")
}

package response

// Summary is the answer of /scheduler/summary.
type Summary struct {
	// Values is the number of values, derived ones included, and States how many are in
	// each state.
	Values int
	States map[string]int
	// Troubles are values that are not in effect, the worst first; Omitted counts the
	// others.
	Troubles []Trouble
	Omitted  int `json:",omitempty"`
	// Groups are the numbers of values by descriptor, if they were asked for.
	Groups []Group `json:",omitempty"`
}

// Group is the number of values of a descriptor.
type Group struct {
	Descriptor string
	// KeyPrefix is the prefix of the keys of values that the northbound can configure;
	// empty for derived values.
	KeyPrefix string `json:",omitempty"`
	Values    int
	States    map[string]int
}

// Trouble is a value that is not in effect, with the reason.
type Trouble struct{ Key, State, Reason string }

package outcome

// Finding is a mistake in a file, or an item of it that is not in effect.
type Finding struct {
	File    string
	Line    int    `json:",omitempty"`
	Column  int    `json:",omitempty"`
	Key     string `json:",omitempty"` // of the item that is not in effect
	Field   string `json:",omitempty"` // that is wrong
	State   string `json:",omitempty"` // of the item
	Message string
	Because string `json:",omitempty"` // key of the item that this one only waits for

	// Of a violated constraint of items together: "error" if VPP or Linux refuse or break
	// them, otherwise "warning"; and the name of the constraint.
	Level, Constraint string `json:",omitempty"`

	// More is the number of findings that this one stands for, because there are too many; 0: it is one.
	More int `json:",omitempty"`

	Text   string `json:"-"` // for people
	Common string `json:"-"` // what other findings may say as well; empty if they do not
	Other  string `json:"-"` // key of the other item of a constraint
}

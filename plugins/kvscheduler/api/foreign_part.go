package api

import "strings"

// Another process can add to an object of the agent what no value can say, such as an interface
// without a name to a bridge domain, or make an object that no model has a key for, such as a route
// of VPP's command line. Retrieve returns it as a foreign part: a value of its own with a
// ForeignKey, whose message has the name of the object and what was added (AddUnmodeled). It
// belongs to the other process: it is listed, and is never changed, taken over or deleted. The drift
// of the value that it was added to reports it as well.

// ForeignField stands for the name of a field where a difference of a value is a foreign part.
const ForeignField = "added by another process"

// foreignMark is what ForeignKey puts between a key and the name of a part.
const foreignMark = "/foreign:"

// ForeignKey returns the key of a foreign part of the object with a key. name tells the parts of the
// object apart, such as "interface 5".
func ForeignKey(key, name string) string { return strings.TrimSuffix(key, "/") + foreignMark + name }

// ForeignTo returns the key of the object that a foreign part is about; false for other keys.
func ForeignTo(key string) (object string, ok bool) {
	if object, _, ok = strings.Cut(key, foreignMark); !ok {
		return "", false
	}
	return object, true
}

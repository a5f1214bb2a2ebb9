package api

import "strings"

// A foreign part is an addition by another process that no value can express: an interface without a
// name in a bridge domain of the agent, or a route of VPP's command line, which has no key. Retrieve
// returns it as a value of its own. Its key is a ForeignKey, and its message contains the name of the
// object and a description of the addition (AddUnmodeled). The scheduler lists foreign parts and
// never changes, adopts or deletes them. The drift of the object reports them, too.

// ForeignField is the FieldDiff.Field of a difference that is a foreign part.
const ForeignField = "added by another process"

// foreignMark separates a key from the name of a part in ForeignKey.
const foreignMark = "/foreign:"

// ForeignKey returns the key of a foreign part of the object with the given key. The name, such as
// "interface 5", is unique among the parts of the object.
func ForeignKey(key, name string) string { return strings.TrimSuffix(key, "/") + foreignMark + name }

// ForeignTo returns the key of the object that a foreign part belongs to; false for other keys.
func ForeignTo(key string) (object string, ok bool) {
	if object, _, ok = strings.Cut(key, foreignMark); !ok {
		return "", false
	}
	return object, true
}

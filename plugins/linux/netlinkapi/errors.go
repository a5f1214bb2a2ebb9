package netlinkapi

import "errors"

// What can be wrong, whatever the operation; compare with errors.Is.
var (
	// ErrNotFound: the link, address, route or neighbour is not there.
	ErrNotFound = errors.New("not found")
	// ErrExists: there is one already.
	ErrExists = errors.New("already exists")
	// ErrBusy: the link must be down for this change.
	ErrBusy = errors.New("link is up and cannot be changed")
	// ErrNamespaceGone: the network namespace does not exist.
	ErrNamespaceGone = errors.New("network namespace does not exist")
	// ErrPermission: the process lacks the capability named in the text.
	ErrPermission = errors.New("permission denied")
	// ErrUnsupported: this kernel cannot do it, or lacks the module for it.
	ErrUnsupported = errors.New("not supported by this kernel")
	// ErrIncomplete: what was read is not the whole state; it says nothing about
	// what is absent.
	ErrIncomplete = errors.New("state could not be read completely")
)

// IsGone reports that the object of an operation does not exist: for a deletion
// that is a success.
func IsGone(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, ErrNamespaceGone)
}

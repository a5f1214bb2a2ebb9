// Package buildinfo holds what the linker is told about a build.
package buildinfo

// Set by the Makefile with -ldflags "-X ...". A binary built without them is a
// development version.
var (
	version = "v0.0.0-dev"
	date    = "" // RFC 3339
	commit  = ""
)

// Version returns the version, when it was built (RFC 3339) and from which
// commit; the latter two are empty if they are not known.
func Version() (v, builtAt, builtFrom string) { return version, date, commit }

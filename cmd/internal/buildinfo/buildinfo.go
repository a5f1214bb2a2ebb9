// Package buildinfo holds build information that the linker sets.
package buildinfo

// Set by the Makefile with -ldflags "-X ...". A binary built without them is a
// development version.
var (
	version = "v0.0.0-dev"
	date    = "" // RFC 3339
	commit  = ""
)

// Version returns the version, the build time (RFC 3339) and the commit; the
// latter two are empty if unknown.
func Version() (v, builtAt, builtFrom string) { return version, date, commit }

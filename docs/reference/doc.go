// Package reference is where the reference documentation is generated from the code:
// flags, configuration files, environment variables, metrics, endpoints, commands.
// It has no code besides its test, which with -update writes the pages.
package reference

//go:generate go test -count=1 -run ^Test(Pages|Schema)$ . -update
//go:generate go test -count=1 -run ^TestMatrix$ ../../plugins/vpp/vpptest -update-matrix

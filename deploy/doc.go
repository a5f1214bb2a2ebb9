// Package deploy holds what it takes to run the programs as services. Its tests
// compare that with the programs: flags, configuration files, endpoints.
package deploy

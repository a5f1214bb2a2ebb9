// Package compatibility compares the agent with its predecessor: HTTP requests, gRPC
// calls, commands of agentctl and keys of data stores. Its tests make all of them against
// a simulated agent, and with -update write docs/compatibility.md from the same tables.
package compatibility

//go:generate go test -count=1 -run ^TestPage$ . -update

// Package quickstart is the configuration that "make run" starts the agent
// with; README.md describes it. The package has the test that runs it.
package quickstart

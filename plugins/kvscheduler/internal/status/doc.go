// Package status describes the values of the graph to users and clients: their
// public status, their relations, and the dependencies that they wait for.
package status

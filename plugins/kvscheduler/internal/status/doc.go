// Package status describes the values of the graph to people and clients:
// their public status, their relations, and what they wait for.
package status

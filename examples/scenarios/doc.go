// Package scenarios tests the how-tos in its directories: it executes the
// commands of every README.md on a real VPP and on the simulator, and compares
// what they print. README.md lists the scenarios and the conventions of these
// documents.
package scenarios

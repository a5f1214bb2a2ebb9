// Package render writes the graph of values in the DOT language of Graphviz, and
// the explanation of a state as a text tree.
package render

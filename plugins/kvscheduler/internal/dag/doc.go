// Package dag has the algorithms on directed graphs that planning, execution and
// explanations share: strongly connected components and a priority queue.
package dag

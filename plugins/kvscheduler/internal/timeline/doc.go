// Package timeline computes former states of values: it undoes the recorded
// transactions, newest first, from the present graph. A transaction counts at its
// end. A change that a refresh found between two transactions appears at the next
// operation on the value.
//
// If the clock was set back, times refer to the present clock: a transaction
// happened no later than those that follow it.
package timeline

// Package meter has the Prometheus metrics of the scheduler. Labels have at most as
// many values as there are descriptors, and no keys.
package meter

// Package model holds the protobuf message that tests of the scheduler use as
// values.
package model

//go:generate sh ../../../../proto/generate-one.sh

// Package model holds the protobuf message that tests of the scheduler use as
// values.
package model

//go:generate go run github.com/tenuto-dev/tenuto/proto/protogen

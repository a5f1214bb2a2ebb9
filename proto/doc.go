// Package proto is the home of the protobuf schema: the directories below hold
// the .proto files and the Go code generated from them.
//
// ligato/ is the schema of the predecessor: same package names, message and
// field names and numbers, so that stored configuration and existing clients
// keep working. testdata/schema.txt lists all of it, and a test compares that
// list with the generated code.
//
// "make generate" generates the code, with protogen.
package proto

//go:generate go run github.com/tenuto-dev/tenuto/proto/protogen -root . -all

package proto

import "embed"

// Files has the .proto files of the schema, named as they import each other.
//
//go:embed ligato/*.proto ligato/*/*.proto ligato/*/*/*.proto tenuto/*/*.proto
var Files embed.FS

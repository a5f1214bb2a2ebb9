// Package model is the northbound model of the tutorial: the message, generated
// from host.proto, and its place in the key space.
package model

import (
	_ "embed"

	"github.com/tenuto-dev/tenuto/infra/models"
)

//go:generate go run -mod=mod github.com/tenuto-dev/tenuto/proto/protogen

//go:embed host.proto
var schema string

// HostModel places hosts at config/tutorial/v1/hosts/{name}, as the option of the message says.
var HostModel = models.Of[*Host]().WithSchema(schema)

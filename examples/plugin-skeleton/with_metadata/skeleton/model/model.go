// Package model is the northbound model of the plugin: the message, generated
// from item.proto, and its place in the key space.
package model

import (
	_ "embed"

	"github.com/tenuto-dev/tenuto/infra/models"
)

//go:generate go run -mod=mod github.com/tenuto-dev/tenuto/proto/protogen

//go:embed item.proto
var schema string

// ModelItem places items at config/skeleton/v1/item/{name}, as the option of the message says.
var ModelItem = models.Of[*Item]().WithSchema(schema)

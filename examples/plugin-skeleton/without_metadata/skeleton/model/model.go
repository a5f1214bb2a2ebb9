// Package model is the northbound model of the plugin: the message, generated
// from item.proto, and its place in the key space.
package model

import (
	_ "embed"

	"github.com/tenuto-dev/tenuto/infra/models"
)

//go:generate sh ../../../../../proto/generate-one.sh

//go:embed item.proto
var schema string

// ModelItem says that items have the keys config/skeleton/v1/item/<name>.
var ModelItem = models.New(models.Spec{Module: "skeleton", Version: "v1", Type: "item", Schema: schema}, (*Item).GetName)

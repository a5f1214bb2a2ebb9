// Package model is the northbound model of the tutorial: the message, generated
// from host.proto, and its place in the key space.
package model

import (
	_ "embed"

	"github.com/tenuto-dev/tenuto/infra/models"
)

//go:generate sh ../../../../../proto/generate-one.sh

//go:embed host.proto
var schema string

// HostModel says that hosts have the keys config/tutorial/v1/hosts/<name>.
var HostModel = models.New(models.Spec{Module: "tutorial", Version: "v1", Type: "hosts", Schema: schema}, (*Host).GetName)

// Package model is the northbound model of interfaces.
package model

import "github.com/tenuto-dev/tenuto/infra/models"

//go:generate go run -mod=mod github.com/tenuto-dev/tenuto/proto/protogen

// ModelInterface places interfaces at config/mock/v1/interfaces/{name}, as the option of the message says.
var ModelInterface = models.Of[*Interface]()

// Package model is the northbound model of interfaces.
package model

import "github.com/tenuto-dev/tenuto/infra/models"

//go:generate sh ../../../../proto/generate-one.sh

// ModelInterface says that interfaces have the keys config/mock/v1/interfaces/<name>.
var ModelInterface = models.New(models.Spec{Module: "mock", Version: "v1", Type: "interfaces"}, (*Interface).GetName)

// Package model has the keys that report which containers run.
package model

import "github.com/tenuto-dev/tenuto/infra/models"

// MicroserviceKey exists while a container with the label runs; it comes from
// the container engine by notification. Items in the namespace of the
// container wait for it.
var MicroserviceKey = models.MustKeyTemplate("linux/microservice/{label}")

// MicroserviceDescriptor is the name of the descriptor of the containers that run.
const MicroserviceDescriptor = "linux-microservice"

// Southbound names the session that the values of Linux plugins live in.
const Southbound = "linux"

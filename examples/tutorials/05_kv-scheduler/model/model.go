// Package model is the northbound model of the tutorial, generated from
// model.proto.
package model

//go:generate go run -mod=mod github.com/tenuto-dev/tenuto/proto/protogen

// Package model is the northbound model of the tutorial, generated from
// model.proto.
package model

//go:generate sh ../../../../proto/generate-one.sh

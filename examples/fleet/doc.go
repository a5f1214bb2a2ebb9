// Package fleet is an example: three routers that are configured as one network. See README.md.
package fleet

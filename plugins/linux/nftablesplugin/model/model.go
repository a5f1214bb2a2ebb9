// Package model places tables of nftables of Linux in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	nftables "github.com/tenuto-dev/tenuto/proto/ligato/linux/nftables"
)

// TableModel is the model of tables.
var TableModel = models.Of[*nftables.Table]()

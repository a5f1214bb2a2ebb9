// Package model places tables of nftables of Linux in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	nftables "github.com/tenuto-dev/tenuto/proto/ligato/linux/nftables"
)

// TableModel places tables at config/linux/nftables/v2/table/{name}.
var TableModel = models.Of[*nftables.Table]()

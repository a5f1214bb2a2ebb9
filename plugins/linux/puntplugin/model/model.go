// Package model places the proxies of Linux in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/linux/punt"
)

// ProxyModel places proxies at config/linux/punt/v2/proxy/{name}.
var ProxyModel = models.Of[*punt.Proxy]()

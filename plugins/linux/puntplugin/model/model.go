// Package model places the proxies of Linux in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/linux/punt"
)

// ProxyModel is the model of proxies.
var ProxyModel = models.Of[*punt.Proxy]()

package dnsplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	dns "github.com/tenuto-dev/tenuto/proto/ligato/vpp/dns"
)

// DNSCacheModel has at most one item.
var DNSCacheModel = models.Of[*dns.DNSCache]()

package dnsplugin

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	dns "github.com/tenuto-dev/tenuto/proto/ligato/vpp/dns"
)

// DNSCacheModel is the only item at config/vpp/dns/v1/dnscache.
var DNSCacheModel = models.Of[*dns.DNSCache]()

package descriptor

import (
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A DUMMY drops what is sent to it; it is a place for addresses.

func dummySpec() spec {
	return spec{
		typ:    interfaces.Interface_DUMMY,
		former: true,
		traits: traits{mtu: defaultMTU},
		params: func(*interfaces.Interface) netlinkapi.LinkParams { return netlinkapi.Dummy{} },
		fill: func(_ *interfaces.Interface, p netlinkapi.LinkParams, _ string) bool {
			return p == netlinkapi.Dummy{}
		},
	}
}

// Package allmodels is the set of all configuration models that the agent
// serves to its northbound.
package allmodels

import (
	"fmt"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/tenuto-dev/tenuto/infra/models"
	linuxl3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	ipsecmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ipsecplugin/model"
	vppl3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	mplsmodel "github.com/tenuto-dev/tenuto/plugins/vpp/mplsplugin/model"
	natmodel "github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/linux"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
)

// named are the models whose names a function computes. All others follow from the options of their
// messages.
var named = []models.Known{
	linuxl3model.RouteModel,
	vppl3model.RouteModel,
	vppl3model.DHCPProxyModel,
	natmodel.PoolModel,
	natmodel.NAT64PoolModel,
	ipsecmodel.SPModel,
	mplsmodel.RouteModel,
}

// MustSet is Set for programs; it returns the same set every time.
func MustSet() *models.Set { return theSet() }

var theSet = sync.OnceValue(func() *models.Set {
	set, err := Set()
	if err != nil {
		panic(err) /* ok: a test of this package excludes it */
	}
	return set
})

// Set returns all configuration models: one for each field of ConfigData, which files have. An error means that two of them conflict, which the tests of this package exclude.
func Set() (*models.Set, error) {
	list := slices.Clone(named)
	for _, data := range []proto.Message{(*netalloc.ConfigData)(nil), (*linux.ConfigData)(nil), (*vpp.ConfigData)(nil)} {
		fields := data.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			name := fields.Get(i).Message().FullName()
			message, err := protoregistry.GlobalTypes.FindMessageByName(name)
			if err != nil {
				return nil, fmt.Errorf("message %s: %w", name, err)
			}
			if m := models.OfMessage(message); !slices.ContainsFunc(named, func(n models.Known) bool { return n.ProtoName() == name }) {
				list = append(list, m)
			}
		}
	}
	return models.NewSet(list...)
}

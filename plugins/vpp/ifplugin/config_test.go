package ifplugin_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(ifplugin.DefaultConfig()); err != nil {
		t.Error(err)
	}
	for text, ok := range map[string]bool{
		"mtu: 9000\nstatus-publishers: [etcd, redis]": true, "mtu: 9217": false, "mtu: -1": false, "dhcp-lease-interval: 0s": false, "statistics-interval: 0": true, "statistics-interval: 1ms": false, "statistics-interval: -1s": false, "status-publisher: x": false,
	} {
		if _, _, err := config.Load(config.Text("vpp-ifplugin", text), ifplugin.DefaultConfig()); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

package hosts

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/examples/tutorials/101_custom-agent/hosts/descriptor"
	"github.com/tenuto-dev/tenuto/examples/tutorials/101_custom-agent/hosts/model"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	vppifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func TestConfigIsLinted(t *testing.T) {
	t.Parallel()
	if err := config.Lint((&Plugin{}).ConfigSpec()); err != nil {
		t.Error(err)
	}
}

func host(name, address, iface string) kvstest.Sample {
	h := &model.Host{Name: name, Address: address, Interface: iface}
	return kvstest.Sample{Key: model.HostModel.Key(h), Value: h}
}

// The life of a host in a real file, with failures, restarts and resyncs. Loops
// take the place of the VPP interfaces that hosts depend on.
func TestHostConforms(t *testing.T) {
	loop := &interfaces.Interface{Name: "loop1", Type: interfaces.Interface_SOFTWARE_LOOPBACK}
	loops := api.Adapt(api.Describe(vppifmodel.InterfaceModel, api.Descriptor[*interfaces.Interface, api.Metadata]{
		Name:   "loops",
		Create: func(string, *interfaces.Interface) (api.Metadata, error) { return nil, nil },
		Delete: func(string, *interfaces.Interface, api.Metadata) error { return nil },
	}))
	samples := []kvstest.Sample{
		host("gateway", "10.1.0.2", "loop1"), host("gateway", "10.1.0.3", "loop1"), host("six", "2001:db8::1", "loop1"),
	}
	d := descriptor.NewHostDescriptor(&file{path: filepath.Join(t.TempDir(), "hosts")})
	kvstest.CheckSamples(t, samples, d)
	kvstest.Conform(t, d, samples, kvstest.Alongside([]kvstest.Sample{{Key: vppifmodel.InterfaceModel.Key(loop), Value: loop}}, loops))
}

func TestHostIsValidated(t *testing.T) {
	t.Parallel()
	d := descriptor.NewHostDescriptor(&file{})
	for field, bad := range map[string]kvstest.Sample{
		"name": host("two words", "10.1.0.2", "loop1"), "address": host("x", "10.1.0.256", "loop1"), "interface": host("x", "10.1.0.2", ""),
	} {
		err := d.Validate(bad.Key, bad.Value)
		var invalid *api.InvalidValueError
		if !errors.As(err, &invalid) || !slices.Equal(invalid.Fields(), []string{field}) {
			t.Errorf("%v: got %v, expected an error about %s", bad.Value, err, field)
		}
	}
}

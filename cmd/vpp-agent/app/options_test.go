package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/models"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	vppifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// thingModel is a model of the program: any message will do.
var thingModel = models.New(models.Spec{Module: "custom", Version: "v1", Type: "things"}, (*pb.ValueStatus).GetKey)

// things is a plugin of the program, with a descriptor that waits for interfaces.
type things struct {
	infra.PluginDeps
	Scheduler kvs.Registrar
}

func (p *things) Init() error {
	return p.Scheduler.RegisterKVDescriptor(kvs.Adapt(kvs.Describe(thingModel, kvs.Descriptor[*pb.ValueStatus, kvs.Metadata]{
		Name:   "things",
		Create: func(string, *pb.ValueStatus) (kvs.Metadata, error) { return nil, nil },
		Delete: func(string, *pb.ValueStatus, kvs.Metadata) error { return nil },
		Dependencies: func(_ string, v *pb.ValueStatus) []kvs.Dependency {
			return []kvs.Dependency{{Label: "interface", Key: vppifmodel.InterfaceModel.KeyFor(v.Error)}}
		},
	})))
}

// An agent with models and plugins of the program handles their items like its own.
func TestCustomModelsAndPlugins(t *testing.T) {
	t.Parallel()
	var mine *things
	custom := []app.Option{app.WithModels(thingModel), app.WithPlugins(func(a *app.VPPAgent) infra.Plugin {
		mine = &things{Scheduler: a.Scheduler}
		mine.SetName("things")
		return mine
	})}
	const more = "customConfig:\n  ValueStatusList:\n  - {key: a, error: loop1}\n  - {key: b, error: loop2}\n"
	h := newCustomHouse(t, custom, network+more, "--simulate")
	h.start(t)
	h.await(t, "config/custom/v1/things/a", pb.ValueState_CONFIGURED)
	h.await(t, "config/custom/v1/things/b", pb.ValueState_PENDING)
	h.await(t, loopKey, pb.ValueState_CONFIGURED)
	if _, body := h.get(t, "/info/models"); !strings.Contains(body, "custom.things") || !strings.Contains(body, "vpp.interfaces") {
		t.Error("/info/models lacks custom.things or vpp.interfaces")
	}
	if _, body := h.get(t, "/configuration"); !strings.Contains(body, "customConfig") {
		t.Errorf("the configuration lacks customConfig:\n%s", body)
	}
	if mine == nil || mine.Log == nil {
		t.Error("the plugin was not initialised")
	}
}

func TestModelTwice(t *testing.T) {
	t.Parallel()
	_, err := app.New(app.WithModels(thingModel, vppifmodel.InterfaceModel))
	if text := fmt.Sprint(err); !strings.HasPrefix(text, "models: ") || !strings.Contains(text, "vpp.interfaces") {
		t.Errorf("got error %v, expected one that names the model", err)
	}
}

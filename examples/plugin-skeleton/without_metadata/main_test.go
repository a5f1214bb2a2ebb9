package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/without_metadata/skeleton/descriptor"
	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/without_metadata/skeleton/model"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
)

const want = `# a child comes before its parent and waits
# the parent comes
device: add parent of size 2
device: add child of size 1
# the parent grows: it is made again, and the child with it
device: delete child
device: delete parent
device: add parent of size 3
device: add child of size 1
# a size that is not possible
error: create config/skeleton/v1/item/huge: size: 1000, expected 1 to 100
# a full resync without items removes them, the child first
device: delete child
device: delete parent
`

func TestOutput(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := run(&out, agent.Args(), agent.Environ(config.NoEnviron), agent.QuitSignals(), agent.Logging(infratest.Loggers(t)))
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &out, want)
	}
}

func TestDescriptor(t *testing.T) {
	t.Parallel()
	d := descriptor.NewItemDescriptor(newDevice(io.Discard))
	one, two := &model.Item{Name: "a", Size: 1, Parent: "b"}, &model.Item{Name: "a", Size: 2, Parent: "b"}
	key := model.ModelItem.Key(one)
	kvstest.CheckSamples(t, []kvstest.Sample{{Key: key, Value: one}, {Key: key, Value: two}}, d)
	kvstest.Exercise(t, d, key, one, two)
}

package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/with_metadata/skeleton/descriptor"
	"github.com/tenuto-dev/tenuto/examples/plugin-skeleton/with_metadata/skeleton/model"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
)

const want = `# a child comes before its parent and waits
# the parent comes
device: add parent of size 2 as number 1
device: add child of size 1 as number 2
# the parent grows
device: resize number 1 to 3
# a size that is not possible
error: create config/skeleton/v1/item/huge: size: 1000, expected 1 to 100
metadata: child has number 2
metadata: parent has number 1
index: number 2 is [child]
# a full resync without items removes them, the child first
device: delete number 2
device: delete number 1
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

package main

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	ifdescriptor "github.com/tenuto-dev/tenuto/examples/mock-southbound/ifplugin/descriptor"
	ifmodel "github.com/tenuto-dev/tenuto/examples/mock-southbound/ifplugin/model"
	l2descriptor "github.com/tenuto-dev/tenuto/examples/mock-southbound/l2plugin/descriptor"
	l2model "github.com/tenuto-dev/tenuto/examples/mock-southbound/l2plugin/model"
	"github.com/tenuto-dev/tenuto/examples/mock-southbound/southbound"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func options(t *testing.T) []agent.Option {
	return []agent.Option{agent.Args(), agent.Environ(config.NoEnviron), agent.Logging(infratest.Loggers(t))}
}

var durations = regexp.MustCompile(`: [0-9.]+m?s`)

func TestDemo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), nil, &out, false, options(t)...); err != nil {
		t.Fatal(err)
	}
	got := durations.ReplaceAll(out.Bytes(), []byte(": DURATION"))
	const file = "testdata/demo.golden"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got:\n%s", got)
	}
}

func TestMenu(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), strings.NewReader("x\n9\n3\ns\nq\n"), &out, true, options(t)...); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"x": expected a number from 1 to 7, a, s or q`, `"9": expected`, "=== a transaction that fails and is reverted",
		"* planned operations:", "* the transaction failed and was reverted", "nothing",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
}

func TestDescriptors(t *testing.T) {
	t.Parallel()
	sb := southbound.New(nil)
	iface, up := tap("tap1"), tap("tap1")
	iface.Enabled = false
	bd := &l2model.BridgeDomain{Name: "bd1", Interfaces: []*l2model.BridgeDomain_Interface{{Name: "tap1"}}}
	fib := &l2model.FIBEntry{PhysAddress: "62:89:C6:A3:6D:5C", BridgeDomain: "bd1", OutgoingInterface: "tap1"}
	ifs, bds := ifdescriptor.NewInterfaceDescriptor(sb), l2descriptor.NewBridgeDomainDescriptor(sb)
	kvstest.CheckSamples(t, []kvstest.Sample{
		{Key: ifmodel.ModelInterface.Key(iface), Value: iface},
		{Key: ifmodel.ModelInterface.Key(up), Value: up},
		{Key: l2model.ModelBridgeDomain.Key(bd), Value: bd},
		{Key: l2model.BDInterfaceKey.Key("bd1", "tap1"), Value: bd.Interfaces[0]},
		{Key: l2model.ModelFIBEntry.Key(fib), Value: fib},
	}, ifs, bds, l2descriptor.NewBDInterfaceDescriptor(sb), l2descriptor.NewFIBDescriptor(sb))
	kvstest.Exercise(t, ifs, ifmodel.ModelInterface.Key(iface), iface, up)
	kvstest.Exercise(t, bds, l2model.ModelBridgeDomain.Key(bd), bd, nil)
}

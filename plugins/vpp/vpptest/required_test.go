package vpptest_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
)

// The schema declares the required fields of all items of the catalogue, at every depth.
func TestRequiredFields(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	var samples []kvstest.Sample
	add := func(all ...proto.Message) {
		for _, m := range all {
			samples = append(samples, kvstest.Sample{Key: catalogue.Key(m), Value: m})
		}
	}
	for _, i := range items(t) {
		add(i.Make())
		for _, c := range slices.Concat(i.Spellings, i.Recreates, i.Updates) {
			add(i.Changed(c))
		}
		for _, c := range i.Conflicts {
			add(append(c.Needs, c.First, c.Second)...)
		}
		if i.Needs != nil {
			add(i.Needs()...)
		}
	}
	kvstest.CheckRequired(t, samples, b.Scheduler.ListDescriptors()...)
}

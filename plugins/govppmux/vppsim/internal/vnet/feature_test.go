package vnet

import (
	"reflect"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
)

func newVNet() *VNet {
	return New(wire.New(wire.Config{}), Config{
		Version: "25.10-simulated", PID: func() uint32 { return 1 }, Now: time.Now,
	})
}

// Features embed VNet: what it implements, all of them would.
func TestVNetImplementsNothingOfFeatures(t *testing.T) {
	n := newVNet()
	_, isFeature := any(n).(feature)
	_, dumps := any(n).(dumper)
	_, dumpsInterfaces := any(n).(interfaceDumper)
	_, details := any(n).(interfaceDetailer)
	_, removes := any(n).(interfaceRemover)
	_, rebinds := any(n).(interfaceRebinder)
	_, leaves := any(n).(l2Leaver)
	_, follows := any(n).(requestFollower)
	_, commands := any(n).(commander)
	if isFeature || dumps || dumpsInterfaces || details || removes || rebinds || leaves || follows || commands {
		t.Error("VNet has a method of the features, which all of them inherit: rename it")
	}
}

func TestFeaturesAreListedOnceAndBelongToTheirVNet(t *testing.T) {
	n := newVNet()
	listed := make(map[reflect.Type]bool)
	for _, f := range n.features {
		kind := reflect.TypeOf(f)
		if listed[kind] {
			t.Errorf("%s is listed twice", kind)
		}
		listed[kind] = true
		if of := reflect.ValueOf(f).Elem().FieldByName("VNet"); !of.IsValid() || of.Interface() != any(n) {
			t.Errorf("%s does not embed the VNet that it is a part of", kind)
		}
	}
}

func TestFeaturesBringDifferentCommands(t *testing.T) {
	paths := make(map[string]bool)
	for _, c := range newVNet().Commands() {
		if paths[c.Path] {
			t.Errorf("%q is a command of two features", c.Path)
		}
		paths[c.Path] = true
	}
	if len(paths) == 0 {
		t.Error("no feature has a command")
	}
}

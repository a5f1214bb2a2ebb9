package model_test

import (
	"testing"

	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

func TestReferences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ       namespace.NetNamespace_ReferenceType
		reference string
		valid     bool
	}{
		{namespace.NetNamespace_UNDEFINED, "", true},
		{namespace.NetNamespace_UNDEFINED, "x", false},
		{namespace.NetNamespace_NSID, "x", true},
		{namespace.NetNamespace_NSID, "", false},
		{namespace.NetNamespace_NSID, "..", false},
		{namespace.NetNamespace_NSID, "a/b", false},
		{namespace.NetNamespace_PID, "1", true},
		{namespace.NetNamespace_PID, "0", false},
		{namespace.NetNamespace_PID, "-1", false},
		{namespace.NetNamespace_PID, "1/../2", false},
		{namespace.NetNamespace_FD, "/proc/1/ns/net", true},
		{namespace.NetNamespace_FD, "ns", false},
		{namespace.NetNamespace_MICROSERVICE, "web", true},
		{namespace.NetNamespace_MICROSERVICE, "", false},
		{9, "x", false},
	} {
		ns := &namespace.NetNamespace{Type: c.typ, Reference: c.reference}
		if err := nsmodel.Validate(ns); (err == nil) != c.valid {
			t.Errorf("%v: error is %v, expected valid=%t", ns, err, c.valid)
		}
		if deps := nsmodel.Dependencies(ns); (len(deps) == 1) != (c.typ == namespace.NetNamespace_MICROSERVICE) {
			t.Errorf("%v: dependencies are %v", ns, deps)
		}
	}
	if !nsmodel.IsOwn(nil) || !nsmodel.Equal(nil, &namespace.NetNamespace{}) {
		t.Error("no reference is not the namespace of the agent")
	}
}

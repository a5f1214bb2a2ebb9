package model

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// MicroserviceDependency is the label of the dependency on the container whose
// namespace is meant.
const MicroserviceDependency = "microservice-available"

// IsOwn reports whether the reference means the namespace of the agent.
func IsOwn(ns *namespace.NetNamespace) bool {
	return ns.GetType() == namespace.NetNamespace_UNDEFINED && ns.GetReference() == ""
}

// Equal reports whether two references are the same. Different references may
// still lead to one namespace.
func Equal(a, b *namespace.NetNamespace) bool {
	return a.GetType() == b.GetType() && a.GetReference() == b.GetReference()
}

// Validate reports what is wrong with a reference.
func Validate(ns *namespace.NetNamespace) error {
	ref := ns.GetReference()
	switch ns.GetType() {
	case namespace.NetNamespace_UNDEFINED:
		if ref != "" {
			return fmt.Errorf("reference %q has no type; expected NSID, PID, FD or MICROSERVICE", ref)
		}
		return nil
	case namespace.NetNamespace_NSID:
		if strings.Contains(ref, "/") || ref == "." || ref == ".." || len(ref) > 255 {
			return fmt.Errorf("reference %q: expected the name of a namespace, without slashes", ref)
		}
	case namespace.NetNamespace_PID:
		if n, err := strconv.ParseUint(ref, 10, 31); err != nil || n == 0 {
			return fmt.Errorf("reference %q: expected the number of a process", ref)
		}
	case namespace.NetNamespace_FD:
		if !strings.HasPrefix(ref, "/") {
			return fmt.Errorf("reference %q: expected an absolute path such as /proc/1234/ns/net", ref)
		}
	case namespace.NetNamespace_MICROSERVICE:
	default:
		return fmt.Errorf("type %d: expected NSID, PID, FD or MICROSERVICE", ns.GetType())
	}
	if ref == "" {
		return errors.New("reference is empty; expected one beside the type")
	}
	return nil
}

// Dependencies lists what must exist before the namespace can be entered.
func Dependencies(ns *namespace.NetNamespace) []api.Dependency {
	if ns.GetType() != namespace.NetNamespace_MICROSERVICE {
		return nil
	}
	return []api.Dependency{{Label: MicroserviceDependency, Key: MicroserviceKey.Key(ns.GetReference())}}
}

// Text describes a reference for people.
func Text(ns *namespace.NetNamespace) string {
	if IsOwn(ns) {
		return "the namespace of the agent"
	}
	return ns.GetType().String() + " " + ns.GetReference()
}

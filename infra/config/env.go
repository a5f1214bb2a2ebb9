package config

import (
	"os"
	"slices"
	"strings"
)

// Environ looks up an environment variable. The real one is os.LookupEnv;
// tests pass their own.
type Environ func(name string) (value string, set bool)

// NoEnviron is an empty environment.
func NoEnviron(string) (string, bool) { return "", false }

// ProcessEnviron is the environment of the process.
func ProcessEnviron(name string) (string, bool) { return os.LookupEnv(name) }

// EnvMap is an environment with the given variables.
func EnvMap(vars map[string]string) Environ {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// Variable is an environment variable that does not correspond to a flag.
type Variable struct{ Name, Doc string }

// Variables lists the environment variables in addition to the variables of
// flags (EnvName); "-h" shows them. No other variables are read, except those
// that configuration files refer to as ${env:NAME}.
func Variables() []Variable {
	return []Variable{
		{"VPP_BIN", "path of a VPP executable to start or to test against"},
		{"ETCD_ENDPOINTS", "addresses of etcd, separated by commas, if etcd.conf has none"},
		{"ENABLE_STATUS_PUBLISHING", "if not empty, the states of items are published to all data stores, unless orchestrator.conf names some"},
		{"NO_COLOR", "if not empty, console output has no colours"},
		{"TERM", "dumb: console output has no colours"},
	}
}

// Env returns a variable listed by Variables. It treats any other name as
// unset, so that the list stays complete.
func Env(name string) (value string, set bool) {
	if !slices.ContainsFunc(Variables(), func(v Variable) bool { return v.Name == name }) {
		return "", false
	}
	return os.LookupEnv(name)
}

// EnvName returns the variable of a flag: "etcd-config" can be set as
// ETCD_CONFIG.
func EnvName(flag string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(flag))
}

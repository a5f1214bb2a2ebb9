package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// layer is a rule about imports. Paths of this module are relative to its root,
// paths of other modules are complete.
type layer struct {
	of      []string // the packages that the rule is about
	notOf   []string // but not these
	mayNot  []string // import these
	except  []string // but these
	inTests bool     // the rule holds for tests as well
	onlyIn  string   // the import is allowed in files of this name
	why     string
}

var everywhere = []string{"infra/...", "plugins/...", "client/...", "proto/...", "fleet/...", "cmd/...", "examples/...", "docs/..."}

var layers = []layer{
	{
		of: []string{"infra/..."}, mayNot: []string{"plugins/...", "proto/...", "client/..."}, inTests: true,
		except: []string{"proto/ligato"},
		why:    "infra is a framework for any agent; what it knows of plugins, all agents would carry. proto/ligato has the options of messages",
	},
	{
		of: []string{"infra/...", "plugins/...", "client/...", "proto/...", "fleet/...", "cmd/..."}, mayNot: []string{"text/template", "html/template"},
		notOf: []string{"plugins/kvscheduler/descriptor-adapter"},
		why:   "templates call methods by name, so that the linker keeps all exported methods of all types: a quarter of the size and memory of the program",
	},
	{
		of:     []string{"infra/suggest"},
		mayNot: []string{"infra/..."},
		why:    "the base packages import it",
	},
	{
		of:     []string{"infra/logging", "infra/config", "infra/idxmap", "infra/models", "infra/health"},
		mayNot: []string{"infra/..."}, except: []string{"infra/suggest"},
		why: "these are the base packages; each must be usable without the others",
	},
	{
		of: []string{"infra"}, mayNot: []string{"infra/..."}, except: []string{"infra/logging", "infra/config", "infra/health"},
		why: "package infra is the contract of a plugin; it knows the services a plugin receives and nothing that implements plugins",
	},
	{
		of:     []string{"plugins/kvscheduler/..."},
		mayNot: []string{"plugins/vpp/...", "plugins/linux/...", "plugins/govppmux/...", "plugins/orchestrator/...", "go.fd.io/govpp/...", "github.com/vishvananda/..."},
		why:    "the scheduler reconciles any system of objects; knowing one of them would bend it towards it",
	},
	{
		of:     []string{"plugins/kvscheduler/internal/plan", "plugins/kvscheduler/internal/graph"},
		mayNot: []string{"os/...", "net", "net/http", "time", "sync/...", "log/...", "context", "math/rand/...", "infra/logging"},
		why:    "planning is pure: the same input gives the same plan, without clock, I/O, locks or log",
	},
	{
		of: []string{"plugins/kvscheduler/internal/registry"}, mayNot: []string{"plugins/kvscheduler/internal/..."},
		why: "the registry of descriptors is below everything that looks a descriptor up",
	},
	{
		of: []string{"plugins/kvscheduler/internal/graph"}, mayNot: []string{"plugins/kvscheduler/internal/..."},
		except: []string{"plugins/kvscheduler/internal/registry"},
		why:    "the graph is below plan, exec and engine",
	},
	{
		of: []string{"plugins/kvscheduler/internal/plan"}, mayNot: []string{"plugins/kvscheduler/internal/..."},
		except: []string{"plugins/kvscheduler/internal/graph", "plugins/kvscheduler/internal/registry", "plugins/kvscheduler/internal/dag"},
		why:    "the planner sees the graph and nothing that executes",
	},
	{
		of: []string{"plugins/kvscheduler/api"}, mayNot: []string{"plugins/...", "infra/agent/...", "infra/rest", "infra/metrics"},
		except: []string{"plugins/kvscheduler/api/..."},
		why:    "the API is what plugins build on; an implementation behind it would come along with every import",
	},
	{
		of: []string{"plugins/vpp/..."}, mayNot: []string{"plugins/linux/..."},
		except: []string{"plugins/linux/*/model"},
		why:    "VPP and Linux meet in the graph, by key; a model package has all the keys there are",
	},
	{
		of: []string{"plugins/linux/..."}, mayNot: []string{"plugins/vpp/...", "plugins/govppmux/...", "go.fd.io/govpp/..."},
		except: []string{"plugins/vpp/*/model"},
		why:    "VPP and Linux meet in the graph, by key; a model package has all the keys there are",
	},
	{
		of: []string{"plugins/..."}, mayNot: []string{"plugins/kvscheduler"}, onlyIn: "options.go",
		why: "plugins are written against the scheduler's API; which scheduler it is, only the defaults in options.go decide",
	},
	{
		of: []string{"proto/..."}, mayNot: []string{"infra/...", "plugins/...", "client/..."},
		why: "the schema is for clients as well, who do not want the agent",
	},
	{
		of: []string{"infra/...", "plugins/...", "client/...", "proto/..."}, mayNot: []string{"fleet/render/..."},
		why: "an agent does not need to know how its configuration was made",
	},
	{
		of: []string{"fleet/..."}, mayNot: []string{"plugins/...", "client/..."},
		except: []string{"plugins/orchestrator/document"},
		why:    "programs that make configurations for others do not carry an agent",
	},
	{
		of:     []string{"fleet/render", "fleet/internal/span"},
		mayNot: []string{"os/...", "net", "net/http", "time", "sync/...", "log/...", "context", "math/rand/...", "infra/logging"},
		why:    "rendering is pure: the same objects and allocations give the same configurations",
	},
	{
		of: []string{"./...", "infra/...", "plugins/...", "client/...", "proto/...", "fleet/...", "examples/..."}, mayNot: []string{"cmd/..."}, inTests: true,
		why: "programs are made of packages, not the other way round",
	},
	{
		of: []string{"infra/...", "plugins/...", "client/...", "proto/...", "fleet/...", "cmd/..."}, mayNot: []string{"examples/..."}, inTests: true,
		why: "examples show how the house is used; nothing may depend on what they show",
	},
	{
		of: everywhere, mayNot: []string{"github.com/sirupsen/logrus", "github.com/pkg/errors", "github.com/golang/protobuf/...", "io/ioutil"}, inTests: true,
		why: "use infra/logging, errors wrapped with %w, google.golang.org/protobuf, io and os",
	},
	{
		of: everywhere, mayNot: []string{"go.fd.io/govpp/core/...", "go.fd.io/govpp/adapter/socketclient"},
		why: "replies can be lost and mixed up there; use plugins/govppmux/binapi",
	},
	{
		of: []string{"infra/...", "plugins/...", "client/...", "cmd/..."}, mayNot: []string{"go.uber.org/zap/..."},
		notOf: []string{"infra/logging/...", "infra/kv/etcd"}, // the client of etcd takes a zap logger
		why:   "zap is an implementation detail of infra/logging",
	},
	{
		of: everywhere, mayNot: []string{"gopkg.in/yaml.v3"},
		notOf: []string{"infra/config", "plugins/orchestrator/document", "cmd/agentctl/internal/output", "cmd/agentctl/internal/contexts", "plugins/linux/nsplugin/internal/containers", "examples/standalone"},
		why:   "the library is archived; the fewer places import it, the easier the change to another (docs/design/decisions.md)",
	},
	{
		of: []string{"infra/...", "plugins/...", "client/...", "fleet/...", "cmd/..."}, mayNot: []string{"testing/..."},
		why: "test helpers belong in packages made for tests (their names end in \"test\"), so that programs do not carry them",
	},
}

// isMadeForTests reports whether a package exists for the tests of others. Such a
// package is free to use what programs are made of; programs must not use it.
func isMadeForTests(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(element string) bool {
		return strings.HasSuffix(element, "test")
	})
}

func TestLayers(t *testing.T) {
	t.Parallel()
	pkgs := packages(t)
	for _, rule := range layers {
		found := false
		for _, p := range pkgs {
			if !anyMatches(rule.of, p.Path) || anyMatches(rule.notOf, p.Path) {
				continue
			}
			found = true
			for _, v := range rule.check(p) {
				t.Error(v)
			}
		}
		if !found {
			t.Errorf("the rule about %v (%s) matches no package: the house has changed, change the rule", rule.of, rule.why)
		}
	}
}

// check returns the imports of a package that break the rule.
func (l layer) check(p *pkg) []string {
	if isMadeForTests(p.Path) && !l.inTests {
		return nil
	}
	var violations []string
	for _, f := range p.files {
		if f.test && !l.inTests || f.name[strings.LastIndex(f.name, "/")+1:] == l.onlyIn {
			continue
		}
		for _, spec := range f.ast.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			path = strings.TrimPrefix(path, module+"/")
			if path == p.Path || !anyMatches(l.mayNot, path) || anyMatches(l.except, path) {
				continue
			}
			violations = append(violations, fmt.Sprintf("%s:%d: %s imports %s: %s", f.name, f.line(spec), p.Path, path, l.why))
		}
	}
	return violations
}

func TestLayerRulesSeeViolations(t *testing.T) {
	t.Parallel()
	p := &pkg{Path: "plugins/vpp/xplugin"}
	for name, text := range map[string]string{
		"plugins/vpp/xplugin/x.go":       `package x; import (_ "` + module + `/plugins/linux/nsplugin"; _ "` + module + `/plugins/linux/nsplugin/model"; _ "` + module + `/plugins/kvscheduler")`,
		"plugins/vpp/xplugin/options.go": `package x; import _ "` + module + `/plugins/kvscheduler"`,
		"plugins/vpp/xplugin/x_test.go":  `package x; import _ "` + module + `/plugins/linux/nsplugin"`,
	} {
		s, err := parse(p, name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		p.files = append(p.files, s)
	}
	var got []string
	for _, rule := range layers {
		if anyMatches(rule.of, p.Path) {
			got = append(got, rule.check(p)...)
		}
	}
	if len(got) != 2 || !strings.Contains(got[0], "x.go:1: plugins/vpp/xplugin imports plugins/linux/nsplugin: VPP and Linux meet") ||
		!strings.Contains(got[1], "imports plugins/kvscheduler: plugins are written against") {
		t.Errorf("got %q", got)
	}
}

// Packages made for tests are imported by tests and by each other only.
func TestProgramsDoNotCarryTestHelpers(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, path := range p.Imports {
			path, own := strings.CutPrefix(path, module+"/")
			if own && isMadeForTests(path) && !isMadeForTests(p.Path) {
				t.Errorf("%s imports %s: a package made for tests has no place in a program", p.Path, path)
			}
		}
	}
}

// Every package has to build, and without cgo.
func TestPackagesBuildWithoutCgo(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.Error != nil {
			t.Errorf("%s: %s", p.Path, p.Error.Err)
		}
		if len(p.CgoFiles) > 0 {
			t.Errorf("%s: %v use cgo: one static binary must run on every machine", p.Path, p.CgoFiles)
		}
		for _, name := range []string{"util", "utils", "common", "helpers", "misc"} {
			if p.Name == name {
				t.Errorf("%s: a package named %s says nothing of what is in it", p.Path, name)
			}
		}
	}
}

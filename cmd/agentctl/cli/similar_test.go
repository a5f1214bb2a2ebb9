package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// misspelt has, for each argument of a command, a command line with a misspelt name and a part of the answer. The commands ask
// an agent that the test starts or, with fake, an agent that has values in quarantine, orphans and a change to confirm.
var misspelt = map[string]struct {
	line, want string
	fake       bool
}{
	"cancel ID":                 {"cancel 3f9a01c3", `its ID is "3f9a01c2"`, true},
	"config history SEQ":        {"config history 44", "the last one is ", false},
	"confirm ID":                {"confirm 3f9a01c3", `its ID is "3f9a01c2"`, true},
	"context delete NAME":       {"context delete lba", `no context "lba"; did you mean "lab"?`, false},
	"context set KEY=VALUE":     {"context set lab hots=x", `did you mean "host"?`, false},
	"context use NAME":          {"context use lba", `did you mean "lab"?`, false},
	"dump MODEL":                {"dump vpp.interfces", `did you mean "vpp.interfaces"?`, false},
	"edit MODEL/NAME":           {"edit vpp.interfaces/lop7", "did you mean vpp.interfaces/loop7?", false},
	"explain MODEL":             {"explain policer", "did you mean vpp.policer.policer or vpp.policer.interface?", false},
	"explain FIELD":             {"explain vpp.interfaces.enabld", `did you mean "enabled"?`, false},
	"fleet abort ROLLOUT":       {"fleet abort r-11", `did you mean "r-1"?`, false},
	"fleet approve ROLLOUT":     {"fleet approve r-11", `did you mean "r-1"?`, false},
	"fleet diff AGENT":          {"fleet diff edge-1 egde-1", `did you mean "edge-1"?`, false},
	"fleet diff --from":         {"fleet diff edge-1 --from r-11", `did you mean "r-1"?`, false},
	"fleet forget AGENT":        {"fleet forget -y egde-1", `did you mean "edge-1"?`, false},
	"fleet history AGENT":       {"fleet history egde-1", `did you mean "edge-1"?`, false},
	"fleet why AGENT":           {"fleet why egde-1", `did you mean "edge-1"?`, false},
	"fleet why MODEL/NAME":      {"fleet why edge-1 vpp.interfaces/lop0", "has no item vpp.interfaces/lop0; did you mean vpp.interfaces/loop0?", false},
	"fleet label AGENT":         {"fleet label egde-1 role-", `the fleet has no agent "egde-1"; did you mean "edge-1"?`, false},
	"fleet label KEY=VALUE":     {"fleet label edge-11 role=edge", `NOTE: edge-11 is new in the fleet; did you mean "edge-1"?`, false}, // the label of a new agent
	"fleet label KEY-":          {"fleet label edge-1 roel-", `NOTE: edge-1 has no "roel"; did you mean "role"?`, false},
	"fleet maintenance AGENT":   {"fleet maintenance egde-1 on", `did you mean "edge-1"?`, false},
	"fleet pause ROLLOUT":       {"fleet pause r-11", `did you mean "r-1"?`, false},
	"fleet resume ROLLOUT":      {"fleet resume r-11", `did you mean "r-1"?`, false},
	"fleet run ROLLOUT":         {"fleet run r-11", `did you mean "r-1"?`, false},
	"fleet set AGENT":           {"fleet set egde-1 loopback-", `did you mean "edge-1"?`, false},
	"fleet set KEY=VALUE":       {"fleet set edge-1 dns=[", "dns:1:", false},
	"fleet set KEY-":            {"fleet set edge-1 lopback-", `did you mean "loopback"?`, false},
	"fleet show ROLLOUT":        {"fleet show r-11", `did you mean "r-1"?`, false},
	"fleet undo ROLLOUT":        {"fleet undo r-11", `did you mean "r-1"?`, false},
	"generate MODEL":            {"generate vpp.interface", `did you mean "vpp.interfaces"?`, false},
	"get KEY":                   {"get lop7", "lop7 is no key; did you mean vpp.interfaces/loop7?", false},
	"kvdb del KEY":              {"kvdb del config/vpp/v2/interfaces/lop8", "key did not exist; did you mean config/vpp/v2/interfaces/loop8?", false},
	"kvdb get KEY":              {"kvdb get config/vpp/v2/interface/loop8", "no such key; did you mean config/vpp/v2/interfaces/loop8?", false},
	"kvdb list PREFIX":          {"kvdb list config/vpp/v2/interface/", "did you mean config/vpp/v2/interfaces/?", false},
	"kvdb put KEY":              {"kvdb put config/vpp/v2/interface/loop8 {}", "did you mean config/vpp/v2/interfaces/", false},
	"log list LOGGER":           {"log list gvopp", `did you mean "govpp"?`, false},
	"log set LOGGER":            {"log set gvopp debug", `did you mean "govpp"?`, false},
	"log set LEVEL":             {"log set govpp dbug", "expected debug, info, warn or error", false},
	"metrics get METRIC":        {"metrics get kvscheduler_value", `did you mean "ligato_kvscheduler_values"?`, false},
	"metrics list PATTERN":      {"metrics list kvscheduler_value", `did you mean "ligato_kvscheduler_values"?`, false},
	"model inspect MODEL":       {"model inspect vpp.interfces", `did you mean "vpp.interfaces"?`, false},
	"model list PATTERN":        {"model list vpp.interfces", `did you mean "vpp.interfaces"?`, false},
	"orphans KEY":               {"orphans --remove vpp.interfaces/lop1", "did you mean vpp.interfaces/loop1?", true},
	"put KEY":                   {"put config/vpp/v2/interface/loop8 {}", "did you mean config/vpp/v2/interfaces/", false},
	"quarantine release KEY":    {"quarantine release vpp.interfaces/mmif1", "did you mean vpp.interfaces/memif1?", true},
	"rollback SEQ":              {"rollback 44", "not in the history, which has 0 to ", false},
	"service call SERVICE":      {"service call ligato.generic.MetaServic KnownModels", `did you mean "ligato.generic.MetaService"?`, false},
	"service call METHOD":       {"service call ligato.generic.MetaService KnowModels", `did you mean "KnownModels"?`, false},
	"service list SERVICE":      {"service list ligato.generic.MetaSevice", `did you mean "ligato.generic.MetaService"?`, false},
	"sources KEY":               {"sources vpp.interfaces/lop7", "did you mean vpp.interfaces/loop7?", false},
	"sources accept NAME":       {"sources accept ectd", `did you mean "etcd"?`, false},
	"targets LABEL":             {"targets egde-1", `did you mean "edge-1"?`, false},
	"topology ITEM":             {"topology lop7", "did you mean vpp.interfaces/loop7?", false},
	"values MODEL":              {"values vpp.interfces", `did you mean "vpp.interfaces"?`, false},
	"values KEY":                {"values vpp.interfces/loop7", "did you mean vpp.interfaces/loop7?", false},
	"vpp acl NAME":              {"vpp acl wbe", "there is no vpp.acls.acl/wbe; did you mean vpp.acls.acl/web?", false},
	"wait KEY":                  {"wait vpp.interfaces/lop7", "did you mean vpp.interfaces/loop7?", false},
	"why KEY":                   {"why vpp.interfaces/lop7", "did you mean vpp.interfaces/loop7?", false},
	"--context":                 {"--context lba version", `did you mean "lab"?`, false},
	"--target":                  {"--target egde-1 version", `did you mean "edge-1"?`, false},
	"values --state":            {"values --state PENDNG", "PENDING", false},
	"wait --for":                {"wait --for CONFIGURD", "CONFIGURED", false},
	"graph --txn":               {"graph --txn 44", "the last one is ", false},
	"kvdb list --service-label": {"--service-label egde-1 kvdb list", "did you mean --service-label edge-1?", false},
}

// noNames are arguments that name nothing that has to exist.
var noNames = []string{"FILE", "DIR", "KEYFILE", "TEXT", "VALUE", "COMMAND", "context set NAME", "model new MODEL", "fleet init LABEL"}

// argument matches the arguments in the usage of a command.
var argument = regexp.MustCompile(`[A-Z]+(?:[=/][A-Z]+)?-?`)

// argumentsOf returns the arguments of all commands: "values KEY".
func argumentsOf(cmd *cobra.Command) (list []string) {
	path := strings.TrimPrefix(cmd.CommandPath(), "agentctl ")
	for _, arg := range argument.FindAllString(cmd.Use, -1) {
		list = append(list, path+" "+arg)
	}
	for _, sub := range cmd.Commands() {
		list = append(list, argumentsOf(sub)...)
	}
	return list
}

// Every command that takes the name of something answers a misspelt one with the name that was meant.
func TestMisspeltNames(t *testing.T) {
	t.Parallel()
	arguments := argumentsOf(Commands())
	for arg := range misspelt {
		if !strings.Contains(arg, " --") && !strings.HasPrefix(arg, "--") && !slices.Contains(arguments, arg) {
			t.Errorf("%s: no command has this argument", arg)
		}
	}
	for _, arg := range arguments {
		_, tested := misspelt[arg]
		if exempt := slices.Contains(noNames, arg) || slices.Contains(noNames, arg[strings.LastIndex(arg, " ")+1:]); exempt == tested {
			t.Errorf("%s: expected a misspelt name in the table of this test, or an exception", arg)
		}
	}
	server := kvtest.Etcd(t)
	config := write(t, "config.yaml", "contexts: {lab: {host: 127.0.0.1}}\n")
	env := map[string]string{"ETCD_ENDPOINTS": server.Direct, "MICROSERVICE_LABEL": "edge-1"}
	startMember(t, "edge-1", server.Direct)
	awaitTarget(t, env, "edge-1", true)
	net := write(t, "net.yaml", "vppConfig:\n  interfaces:\n  - {name: loop7, type: SOFTWARE_LOOPBACK}\n  acls:\n  - {name: web, rules: [{action: PERMIT, ipRule: {}}]}\n")
	objects := strings.Split(strings.ReplaceAll(fleetAgents, "MTU", "1500"), "---\n")
	fleet := write(t, "fleet.yaml", objects[0]+"---\n"+objects[2])
	agentctl := func(line string) result {
		flags := []string{"--config", config}
		if first, _, _ := strings.Cut(line, " "); !slices.Contains([]string{"fleet", "kvdb", "put", "context", "targets"}, first) && !strings.HasPrefix(line, "--") {
			flags = append(flags, "--target", "edge-1")
		}
		return run(t, env, append(flags, words(line)...)...)
	}
	for _, line := range []string{
		"apply " + net, `put config/vpp/v2/interfaces/loop8 {"name":"loop8","type":"SOFTWARE_LOOPBACK"}`,
		"fleet label edge-1 role=edge", "fleet set edge-1 loopback=10.255.0.1/32", "fleet apply -y -f " + fleet,
	} {
		if r := agentctl(line); r.code != 0 {
			t.Fatalf("%s: exit %d: %s%s", line, r.code, r.out, r.err)
		}
	}
	fake := newFakeAgent(t)
	for arg, m := range misspelt {
		answer := agentctl
		if m.fake {
			answer = func(line string) result { return fake.run(t, nil, strings.Fields(line)...) }
		}
		if r := answer(m.line); !strings.Contains(r.out+r.err, m.want) {
			t.Errorf("%s: agentctl %s: exit %d, no %q in\n%s%s", arg, m.line, r.code, m.want, r.out, r.err)
		}
	}
}

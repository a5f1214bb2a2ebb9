package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
)

// The output of all commands that are not Ligato's has names of one style, also in paths and YAML.
func TestOneStyle(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	key := regexp.MustCompile(`(?m)^[ -]*"?([A-Za-z]\w*)"?:( |$)`)
	for _, line := range []string{
		"get vpp.l2.bridge-domain/bd1", "why vpp.l2.bridge-domain/bd1", "drift", "orphans", "quarantine", "version", "sources vpp.interfaces/loop7",
		"plan testdata/rest/configuration.yaml", "metrics list", "metrics get a_total", "config history 3 --critical-path", "vpp capabilities",
		"wait vpp.interfaces/loop7", "log list", "vpp info", "explain vpp.l2.fib", "config update testdata/rest/configuration.yaml --replace",
	} {
		for _, format := range []string{"json", "yaml"} {
			r := f.run(t, nil, append(strings.Fields(line), "-o", format)...)
			found := key.FindAllStringSubmatch(r.out, -1)
			for _, name := range found {
				if strings.Contains(name[1], "_") || name[1][0] < 'a' {
					t.Errorf("%s -o %s: field %s in\n%s", line, format, name[1], r.out)
				}
			}
			if len(found) == 0 {
				t.Errorf("%s -o %s: no fields in %s%s", line, format, r.out, r.err)
			}
		}
	}
}

// The output that scripts for Ligato parse is as it was there, and the help says so.
func TestNamesOfLigato(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	for line, want := range map[string]string{
		"status": `"PluginStatus": {`, "values": `"derived_values": [`, "dump vpp.interfaces": `"Origin": 2`, "config history": `"SeqNum": 1,`,
		"config resync": `"PrevState": "MISSING"`, "model list": `"KeyPrefix": "`, "model inspect vpp.l2.fib": `"ProtoFile": "`,
	} {
		if r := f.run(t, nil, append(strings.Fields(line), "-o", "json")...); !strings.Contains(r.out, want) {
			t.Errorf("%s lacks %s:\n%s%s", line, want, r.out, r.err)
		}
		cmd, _, err := Commands().Find(strings.Fields(line))
		if err != nil || !strings.Contains(cmd.Flags().Lookup("output").Usage, "as in Ligato") {
			t.Errorf("%s: %v: the help of -o lacks it", line, err)
		}
	}
	if !strings.Contains(Commands().Long, output.FieldNames) {
		t.Error("the help of agentctl lacks the names of fields")
	}
}

package cli

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

func TestLowerCamel(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"SeqNum": "seqNum", "last_change": "lastChange", "APIVersion": "apiVersion", "OSType": "osType", "PID": "pid", "Key": "key",
		"OS": "os", "IPAddresses": "ipAddresses", "SwIfIndex": "swIfIndex", "lastChange": "lastChange", "X": "x", "TAPHostIfName": "tapHostIfName",
		"value-state": "value-state", "config/vpp/A": "config/vpp/A", "": "", "-/+": "-/+", "a__b": "a__b",
	} {
		if got := lowerCamel(name); got != want {
			t.Errorf("%q becomes %q, expected %q", name, got, want)
		}
	}
}

// Names are changed in the order of the text, but not in what users name.
func TestRenamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"Z":{"SeqNum":1,"a_name":[{"B":null},"C",[]]},"A":"\"B\":"}`:                `{"z":{"seqNum":1,"aName":[{"b":null},"C",[]]},"a":"\"B\":"}`,
		`[{"ProtoMsgName":"X","ProtoMsgData":{"Field_a":1}},{"labels":{"Team":"a"}}]`: `[{"protoMsgName":"X","protoMsgData":{"Field_a":1}},{"labels":{"Team":"a"}}]`,
		`{"Origin":1,"Forced":{"Key":["Mtu"]}}`:                                       `{"origin":"from-NB","forced":{"Key":["Mtu"]}}`,
		`{}`:                                                                          `{}`, `[]`: `[]`, `null`: `null`, `"A"`: `"A"`, `1.50`: `1.50`, `{"N":12345678901234567890}`: `{"n":12345678901234567890}`,
	} {
		if got := renamed(json.RawMessage(text)); string(got) != want {
			t.Errorf("%s becomes %s, expected %s", text, got, want)
		}
	}
}

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
	if !strings.Contains(Commands().Long, fieldNames) {
		t.Error("the help of agentctl lacks the names of fields")
	}
}

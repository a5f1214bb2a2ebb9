package compatibility

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/health/statuscheck/status"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	schema "github.com/tenuto-dev/tenuto/proto"
)

// formerModels are the models that the predecessor has. Package allmodels compares their
// keys with its table.
func formerModels(t *testing.T) (all []models.Known) {
	t.Helper()
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range set.All() {
		if !schema.IsAddition(m.ProtoName()) {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b models.Known) int { return cmp.Compare(a.KeyPrefix(), b.KeyPrefix()) })
	return all
}

func keyRows(t *testing.T) (rows []row) {
	t.Helper()
	for _, m := range formerModels(t) {
		key := m.KeyPrefix()
		if name := m.Name(); name != nil {
			key += name.String()
		}
		rows = append(rows, row{key, same, ""})
	}
	return append(rows,
		row{status.AgentKey, same, ""},
		row{status.PluginPrefix + "<plugin>", better, "plugins that the predecessor did not report are there, too"},
		row{"vpp/status/v2/interface/<name>", same, ""},
		row{"config-status/<key of the item without config/>", same, ""},
		row{"vpp/config/v1/..., vpp/config/v2/...", cannot, "keys of the first releases have no effect; `agentctl status` lists them with the prefix that they need"},
	)
}

// TestKeys reads an item of each model by its key, in the JSON of data stores.
func TestKeys(t *testing.T) {
	t.Parallel()
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../plugins/orchestrator/allmodels/testdata/example-keys.tsv")
	if err != nil {
		t.Fatal(err)
	}
	examples := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		column := strings.Split(strings.TrimSpace(line), "\t")
		m, known := set.ForName(column[0])
		if !known || schema.IsAddition(m.ProtoName()) {
			continue
		}
		examples[column[0]] = true
		doc := document.New(set).Decode("items.json", []byte(`{"data": [{"key": "/vnf-agent/vpp1/`+column[2]+`", "value": `+column[1]+`}]}`), "/vnf-agent/vpp1/")
		if len(doc.Errs) > 0 || len(doc.Items) != 1 || doc.Items[0].Key != column[2] {
			t.Errorf("%s: %v, %v", column[2], doc.Items, doc.Errs)
		}
	}
	for _, m := range formerModels(t) {
		if !examples[m.Spec().ModelName()] {
			t.Errorf("there is no example of %s", m.Spec().ModelName())
		}
	}
}

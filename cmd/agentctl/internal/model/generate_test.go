package model

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
)

// optional matches the lines of fields that are commented out.
var optional = regexp.MustCompile(`(?m)^    #([^ ]|  )`)

// Generated files can be applied. With all fields they are valid YAML.
func TestGeneratedFilesCanBeApplied(t *testing.T) {
	t.Parallel()
	set := allmodels.MustSet()
	e, err := newExplainer(t.Context(), cmdutil.NewFactory(output.Streams{}, config.NoEnviron, time.Now, output.Terminal{}))
	infratest.Fatal(t, err)
	var all strings.Builder
	for _, m := range set.All() {
		name, text := m.Spec().ModelName(), e.generate(m)
		all.WriteString("---\n" + text)
		doc := e.codec.Decode(name, []byte(text), "")
		if len(doc.Items) != 1 || len(doc.Errs) > 0 {
			t.Errorf("%s: %v\n%s", name, doc.Errs, text)
		}
		whole := optional.ReplaceAllString(text, "    $1")
		if err := yaml.Unmarshal([]byte(whole), new(yaml.Node)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, whole)
		}
	}
	checked, err := app.Check(t.Context(), []byte(all.String()), nil)
	for _, p := range checked.Problems {
		t.Errorf("%s: %s", p.Path, p.Error)
	}
	if checked.Outcome == nil {
		t.Fatal(err)
	}
	for _, r := range checked.Outcome.Results {
		if r.State != "PENDING" {
			t.Errorf("%s is %s: %s", r.Key, r.State, r.Reason)
		}
	}
}

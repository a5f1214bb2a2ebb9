package gnmi

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
)

func allModels(t testing.TB) *models.Set {
	t.Helper()
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// The keys are the fields of the templates of names.
func TestKeyNames(t *testing.T) {
	t.Parallel()
	field := regexp.MustCompile(`\.([A-Z][A-Za-z0-9]*)`)
	with := 0
	for _, m := range known(allModels(t)) {
		var want []string
		for _, f := range field.FindAllStringSubmatch(allmodels.TemplateOf(m), -1) {
			if f[1] != "IP" && f[1] != "MaskSize" { // of the network, not of the message
				want = append(want, strings.ToLower(f[1]))
			}
		}
		slices.Sort(want)
		got := m.keyNames()
		for i := range got {
			got[i] = strings.ToLower(got[i])
		}
		slices.Sort(got)
		if want = slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("%s: keys %v, want %v", m.name, got, want)
		}
		if len(want) > 0 {
			with++
		}
	}
	if with < 50 {
		t.Errorf("only %d models with keys", with)
	}
}

// A model whose names are made of no field has the key "key".
func TestKeyOfOtherNames(t *testing.T) {
	t.Parallel()
	set, err := models.NewSet(models.New(models.Spec{Module: "x", Type: "y"}, func(*wrapperspb.StringValue) string { return "const" }))
	if err != nil {
		t.Fatal(err)
	}
	m := known(set)[0]
	if got := m.keys("config/x/v0/y/const", m.NewInstance().ProtoReflect()); len(got) != 1 || got["key"] != "const" {
		t.Errorf("keys %v", got)
	}
}

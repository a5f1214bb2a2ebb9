package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func somePlan() *api.Plan {
	values := []api.RecordedKVPair{
		{Key: "tap/1", Value: &model.Item{Value: 1, Deps: []string{"<&>"}}, Origin: api.FromNB},
		{Key: "tap/2", Origin: api.FromNB},
	}
	return &api.Plan{
		Created: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), Description: "a change", Values: values,
		Operations: []api.RecordedTxnOp{{Operation: pb.TxnOperation_CREATE, Key: "tap/1", NewValue: values[0].Value, NewState: pb.ValueState_CONFIGURED}},
		Base:       []api.PlanBase{{Key: "tap/1"}, {Key: "tap/2", Wanted: "x", Exists: "x"}},
		Digest:     api.ValuesDigest(values),
	}
}

func TestSavedPlan(t *testing.T) {
	t.Parallel()
	text, err := api.SealPlan(somePlan())
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer // white space does not matter
	if err := json.Compact(&compact, text); err != nil {
		t.Fatal(err)
	}
	for _, form := range [][]byte{text, compact.Bytes()} {
		var got api.Plan
		if err := api.OpenPlan(form, &got); err != nil {
			t.Fatal(err)
		}
		if got.Digest != api.ValuesDigest(got.Values) || len(got.Operations) != 1 || !got.Created.Equal(somePlan().Created) {
			t.Errorf("read %+v", got)
		}
	}
}

// Fields of a newer program are ignored.
func TestSavedPlanOfNewerProgram(t *testing.T) {
	t.Parallel()
	text, err := api.SealPlan(struct {
		*api.Plan
		Novelty map[string]int
	}{somePlan(), map[string]int{"tap/1": 1}})
	if err != nil {
		t.Fatal(err)
	}
	var got api.Plan
	if err := api.OpenPlan(text, &got); err != nil || got.Digest != somePlan().Digest || len(got.Base) != 2 {
		t.Errorf("%v: read %+v", err, got)
	}
}

func TestSavedPlanErrors(t *testing.T) {
	t.Parallel()
	text, err := api.SealPlan(somePlan())
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := api.SealPlan(map[string]any{"Values": "none"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text []byte
		want error
		tell string
	}{
		"empty":           {nil, api.ErrPlanDamaged, "it is no plan"},
		"cut":             {text[:len(text)/2], api.ErrPlanDamaged, "unexpected end"},
		"edited":          {bytes.Replace(text, []byte(`"tap/2"`), []byte(`"tap/3"`), 1), api.ErrPlanDamaged, "does not match its sum"},
		"a configuration": {[]byte("vppConfig:\n  interfaces: []\n"), api.ErrPlanDamaged, "a configuration is applied with -f"},
		"the same, JSON":  {[]byte(` {"vppConfig": {}}`), api.ErrPlanDamaged, "a configuration is applied with -f"},
		"a list":          {[]byte(`[1]`), api.ErrPlanDamaged, "it is no plan"},
		"longer":          {append(bytes.Clone(text), "{}"...), api.ErrPlanDamaged, "after top-level value"},
		"newer":           {bytes.Replace(text, []byte(`"PlanFormat": 1`), []byte(`"PlanFormat": 2`), 1), api.ErrPlanVersion, "format 2, and this program reads format 1; use a newer program, or plan again"},
		"older":           {bytes.Replace(text, []byte(`"PlanFormat": 1`), []byte(`"PlanFormat": -1`), 1), api.ErrPlanVersion, "plan again"},
		"another type":    {foreign, api.ErrPlanVersion, "Values"},
	} {
		err := api.OpenPlan(c.text, new(api.Plan))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.tell) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.tell)
		}
	}
}

// Digests are in saved plans, so they stay what they are.
func TestDigests(t *testing.T) {
	t.Parallel()
	item := &model.Item{Value: 7, Note: strings.Repeat("long", 200)}
	if got, want := api.ValueDigest(item), "6fa5900794ac9468031bb5e42e4bd51e"; got != want {
		t.Errorf("of a value: %s, expected %s", got, want)
	}
	values := []api.RecordedKVPair{{Key: "tap/1", Value: item}, {Key: "tap/2"}}
	if got, want := api.ValuesDigest(values), "53e99fbac78a9a1351100b1bb2811aac"; got != want {
		t.Errorf("of values: %s, expected %s", got, want)
	}
	if got, want := api.ValuesDigest(nil), "e3b0c44298fc1c149afbf4c8996fb924"; got != want {
		t.Errorf("of none: %s, expected %s", got, want)
	}
}

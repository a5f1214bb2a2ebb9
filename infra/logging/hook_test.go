package logging_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tenuto-dev/tenuto/infra/logging"
)

func TestHooks(t *testing.T) {
	t.Parallel()
	for _, form := range []logging.Encoding{logging.Console, logging.JSON} {
		r, _ := newRegistry(logging.WithEncoding(form))
		var got []logging.Entry
		early := r.Logger("early").With("made", "before")
		remove := r.AddHook(func(e logging.Entry) { got = append(got, e) })
		d := login(t)
		m := dynamicpb.NewMessage(d)
		m.Set(d.Fields().ByName("private_key"), protoreflect.ValueOf("geheim"))
		early.Warn("line\nbreak", "n", 1, "m", m)
		early.Debug("not written")
		second := r.AddHook(func(logging.Entry) { got = append(got, logging.Entry{}) })
		r.Logger("l").Infof("%d", 2)
		remove()
		second()
		r.Logger("l").Error("not seen")
		if len(got) != 3 {
			t.Fatalf("%s: %d entries", form, len(got))
		}
		want := logging.Entry{Time: clock(), Level: logging.WarnLevel, Logger: "early", Message: "line\nbreak",
			Facts: []logging.Fact{{"made", "before"}, {"n", "1"}, {"m", `private_key:"***"`}}}
		first := got[0]
		if !slices.Equal(first.Facts, want.Facts) || first.Message != want.Message || first.Level != want.Level || first.Logger != want.Logger || !first.Time.Equal(want.Time) {
			t.Errorf("%s: got %+v", form, first)
		}
		if got[1].String() != "l 2" || first.String() != `early line
break {"made": "before", "n": "1", "m": "private_key:\"***\""}` {
			t.Errorf("%s: got %q, %q", form, got[1], first)
		}
	}
}

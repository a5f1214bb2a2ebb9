package protodoc_test

import (
	"io/fs"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/proto"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/protodoc"
)

// Operators read the comments as documentation, so each field of a model has one.
func TestEveryFieldHasComment(t *testing.T) {
	t.Parallel()
	c, err := protodoc.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[protoreflect.FullName]bool{}
	fields := 0
	var walk func(m protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] || !strings.HasPrefix(string(m.FullName()), "ligato.") {
			return
		}
		seen[m.FullName()] = true
		if strings.HasSuffix(c.Of(m.FullName()), "for the fields.") {
			return // the comment refers to another message with these fields
		}
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			if fields++; c.Of(f.FullName()) == "" {
				t.Errorf("%s: the field has no comment", f.FullName())
			}
			if f.Message() != nil {
				walk(f.Message())
			}
		}
	}
	for _, m := range set.All() {
		if d := m.NewInstance().ProtoReflect().Descriptor(); m.Spec().Class == "config" {
			if c.Of(d.FullName()) == "" {
				t.Errorf("%s: the message has no comment", d.FullName())
			}
			walk(d)
		}
	}
	if fields < 400 {
		t.Errorf("%d fields of models, expected at least 400", fields)
	}
}

func TestUnknownNames(t *testing.T) {
	t.Parallel()
	c, err := protodoc.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Of("ligato.vpp.NoSuchMessage"); got != "" {
		t.Errorf("%q", got)
	}
}

// Add compiles a file with what it imports, and damaged ones are errors.
func TestAdd(t *testing.T) {
	t.Parallel()
	c, err := protodoc.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := (&configurator.Config{}).ProtoReflect().Descriptor().ParentFile()
	text, err := fs.ReadFile(proto.Files, file.Path())
	if err != nil {
		t.Fatal(err)
	}
	const mine = "\n// Mine is added.\nmessage Mine { ligato.vpp.ConfigData one = 1; }\n"
	if err := c.Add(t.Context(), file, string(text)+mine); err != nil || c.Of(file.Package().Append("Mine")) != "Mine is added." {
		t.Errorf("%v, comment %q", err, c.Of(file.Package().Append("Mine")))
	}
	if err := c.Add(t.Context(), file, "message {"); err == nil {
		t.Error("no error about a damaged file")
	}
}

package allmodels_test

import (
	"flag"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"text/template"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/proto/ligato/linux"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
)

func set(t *testing.T) *models.Set {
	t.Helper()
	s, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var update = flag.Bool("update", false, "add new models to the tables in testdata")

// with returns the rows of a table, whose first column is the model, and with -update adds the rows
// of new models. Rows that exist are never changed: stores and clients rely on them.
func with(t *testing.T, path string, columns int, row func(models.Known) []string) [][]string {
	t.Helper()
	table := rows(t, path, columns)
	if !*update {
		return table
	}
	known := map[string]bool{}
	for _, r := range table {
		known[r[0]] = true
	}
	for _, m := range set(t).All() {
		if !known[m.Spec().ModelName()] {
			table = append(table, row(m))
		}
	}
	slices.SortStableFunc(table, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	head, _, _ := strings.Cut(read(t, path), "\n")
	text := head + "\n"
	for _, r := range table {
		text += strings.Join(r, "\t") + "\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return table
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// rows reads a table of tab-separated columns and leaves out its head.
func rows(t *testing.T, path string, columns int) [][]string {
	t.Helper()
	var out [][]string
	for i, line := range strings.Split(strings.TrimRight(read(t, path), "\n"), "\n") {
		row := strings.Split(line, "\t")
		for len(row) < columns {
			row = append(row, "")
		}
		if i > 0 {
			out = append(out, row)
		}
	}
	return out
}

// TestModelsAreCompatible compares name, message, place and name template of
// every model with the table of the predecessor.
func TestModelsAreCompatible(t *testing.T) {
	t.Parallel()
	s := set(t)
	describe := func(m models.Known) []string {
		spec := m.Spec()
		return []string{spec.ModelName(), string(m.ProtoName()), spec.Module, spec.Version, spec.Type, spec.Class, m.KeyPrefix(), allmodels.TemplateOf(m)}
	}
	table := with(t, "testdata/models-keys.tsv", 8, describe)
	if got, want := len(s.All()), len(table); got != want {
		t.Errorf("%d models, want %d", got, want)
	}
	for _, row := range table {
		m, ok := s.ForName(row[0])
		if !ok {
			t.Errorf("model %s is missing", row[0])
			continue
		}
		got := describe(m)
		for i := range got {
			if got[i] != row[i] {
				t.Errorf("model %s: column %d is %q, want %q", row[0], i+1, got[i], row[i])
			}
		}
		if m.Singleton() != (row[7] == "") {
			t.Errorf("model %s: singleton = %v", row[0], m.Singleton())
		}
	}
}

// TestExampleKeys shows the key of an item of every model.
func TestExampleKeys(t *testing.T) {
	t.Parallel()
	s := set(t)
	seen := map[string]bool{}
	for _, row := range with(t, "testdata/example-keys.tsv", 3, example) {
		seen[row[0]] = true
		m, ok := s.ForName(row[0])
		if !ok {
			t.Errorf("model %s is missing", row[0])
			continue
		}
		item := m.NewInstance()
		if err := protojson.Unmarshal([]byte(row[1]), item); err != nil {
			t.Errorf("model %s: item %s: %v", row[0], row[1], err)
			continue
		}
		key, err := s.KeyOf(item)
		if err != nil || key != row[2] {
			t.Errorf("model %s: item %s: key %q, %v, want %q", row[0], row[1], key, err, row[2])
		}
		if back, ok := s.ForKey(key); !ok || back.Spec() != m.Spec() {
			t.Errorf("key %q is not found to be of model %s", key, row[0])
		}
	}
	for _, m := range s.All() {
		if !seen[m.Spec().ModelName()] {
			t.Errorf("model %s: no example key", m.Spec().ModelName())
		}
	}
}

// example returns an item of a model with a name, and its key.
func example(m models.Known) []string {
	item := m.NewInstance()
	if m.Name() != nil {
		for _, f := range m.Name().Required() {
			switch f.Kind() {
			case protoreflect.StringKind:
				item.ProtoReflect().Set(f, protoreflect.ValueOfString(string(f.Name())))
			case protoreflect.EnumKind:
				values := f.Enum().Values()
				item.ProtoReflect().Set(f, protoreflect.ValueOfEnum(values.Get(values.Len()-1).Number()))
			case protoreflect.Uint32Kind:
				item.ProtoReflect().Set(f, protoreflect.ValueOfUint32(7))
			}
		}
	}
	text, _ := protojson.MarshalOptions{UseProtoNames: true}.Marshal(item)
	key, _ := m.KeyOf(item)
	return []string{m.Spec().ModelName(), strings.ReplaceAll(string(text), ", ", ","), key}
}

// TestEveryModelIsConfigurable shows that every model has a field in one of the
// configuration messages, and every field a model.
func TestEveryModelIsConfigurable(t *testing.T) {
	t.Parallel()
	byMessage := map[protoreflect.FullName]models.Known{}
	for _, m := range set(t).All() {
		byMessage[m.ProtoName()] = m
	}
	fields := map[protoreflect.FullName]bool{}
	for _, data := range []proto.Message{(*vpp.ConfigData)(nil), (*linux.ConfigData)(nil), (*netalloc.ConfigData)(nil)} {
		fds := data.ProtoReflect().Descriptor().Fields()
		for i := range fds.Len() {
			fd := fds.Get(i)
			fields[fd.Message().FullName()] = true
			if m, ok := byMessage[fd.Message().FullName()]; !ok {
				t.Errorf("field %s: no model", fd.FullName())
			} else if m.Singleton() == fd.IsList() {
				t.Errorf("field %s: repeated = %v, but singleton = %v", fd.FullName(), fd.IsList(), m.Singleton())
			}
		}
	}
	for name, m := range byMessage {
		if !fields[name] {
			t.Errorf("model %s: no field of type %s", m.Spec().ModelName(), name)
		}
	}
}

// templateFuncs are the functions that name templates use in the generic API.
func templateFuncs() template.FuncMap {
	type ipNet struct {
		IP       string
		MaskSize int
	}
	return template.FuncMap{
		"ipnet": func(s string) *ipNet {
			if strings.HasPrefix(s, "alloc:") {
				return nil
			}
			_, n, err := net.ParseCIDR(s)
			if err != nil {
				return &ipNet{IP: "<invalid>"}
			}
			ones, _ := n.Mask.Size()
			return &ipNet{IP: n.IP.String(), MaskSize: ones}
		},
		"protoip": func(s string) string {
			switch ip := net.ParseIP(s); {
			case ip == nil:
				return "<invalid>"
			case ip.To4() != nil:
				return "IPv4"
			default:
				return "IPv6"
			}
		},
	}
}

// TestNamesFollowTemplates runs the name templates against the names that the models give random
// items, and the patterns against those.
func TestNamesFollowTemplates(t *testing.T) {
	t.Parallel()
	for _, m := range set(t).All() {
		if m.Singleton() {
			continue
		}
		name := m.Spec().ModelName()
		tmpl, err := template.New(name).Funcs(templateFuncs()).Parse(allmodels.TemplateOf(m))
		if err != nil {
			t.Fatalf("model %s: %v", name, err)
		}
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			item := m.NewInstance()
			fill(t, item.ProtoReflect())
			var want strings.Builder
			if err := tmpl.Execute(&want, item); err != nil {
				t.Fatal(err)
			}
			key, err := m.KeyOf(item)
			if strings.ContainsFunc(want.String(), unicode.IsControl) {
				if err == nil {
					t.Fatalf("item %v: key %q, although its name has control characters", item, key)
				}
				return
			}
			if err != nil || key != m.KeyPrefix()+want.String() {
				t.Fatalf("item %v: key %q, %v, want %q", item, key, err, m.KeyPrefix()+want.String())
			}
			if label := m.Label(key); label != want.String() {
				t.Fatalf("label of %q is %q", key, label)
			}
			if pattern := m.Name().Pattern(); !pattern.MatchString(want.String()) {
				t.Fatalf("name %q does not match %v", want.String(), pattern)
			}
		}))
	}
}

// fill gives random values to the scalar fields of an item.
func fill(t *rapid.T, msg protoreflect.Message) {
	text := rapid.OneOf(
		rapid.SampledFrom([]string{"", "10.0.0.1", "10.0.0.1/24", "2001:DB8::1", "2001:db8::1/64", "::ffff:10.0.0.1",
			"::ffff:10.0.0.1/120", "fe80::1%eth0", "10.0.0.1/33", "010.0.0.1", "alloc:net/if", "alloc:net/GW", "a/b", "é"}),
		rapid.String())
	fds := msg.Descriptor().Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		if fd.IsList() || fd.IsMap() {
			continue
		}
		switch fd.Kind() {
		case protoreflect.StringKind:
			msg.Set(fd, protoreflect.ValueOfString(text.Draw(t, string(fd.Name()))))
		case protoreflect.Uint32Kind:
			msg.Set(fd, protoreflect.ValueOfUint32(rapid.Uint32().Draw(t, string(fd.Name()))))
		case protoreflect.BoolKind:
			msg.Set(fd, protoreflect.ValueOfBool(rapid.Bool().Draw(t, string(fd.Name()))))
		case protoreflect.EnumKind:
			n := rapid.Int32Range(-1, 20).Draw(t, string(fd.Name()))
			msg.Set(fd, protoreflect.ValueOfEnum(protoreflect.EnumNumber(n)))
		}
	}
}

// TestPatternsOfNames shows texts that are no names.
func TestPatternsOfNames(t *testing.T) {
	t.Parallel()
	s := set(t)
	for name, wrong := range map[string][]string{
		"vpp.l2.fib":     {"bd1", "bd1/02:00:00:00:00:01"},
		"vpp.vrf-table":  {"1", "id/one/protocol/IPV4", "id/1/protocol/ipv4", "id/1"},
		"vpp.abfs.abf":   {"abf1"},
		"linux.l3.route": {"10.0.0.0"},
		"vpp.route":      {"vrf/x/dst/10.0.0.0/8/", "vrf/0/dst/10.0.0.0/8", "10.0.0.0/8", "vrf/0/10.0.0.0/8/gw/10.0.0.1"},
		"vpp.ipsec.sp":   {"spd/1/sa/inbound/local-addresses/-/remote-addresses/-"},
	} {
		m, _ := s.ForName(name)
		for _, text := range wrong {
			if pattern := m.Name().Pattern(); pattern.MatchString(text) {
				t.Errorf("%s: %q matches %v", name, text, pattern)
			}
		}
	}
}

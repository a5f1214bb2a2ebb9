package config_test

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// everything has a field of every kind that a file can hold.
type everything struct {
	Text     string            `json:"text" desc:"d"`
	Yes      bool              `json:"yes" desc:"d"`
	Int      int               `json:"int" desc:"d"`
	Small    uint8             `json:"small" desc:"d"`
	Float    float64           `json:"float" desc:"d"`
	Wait     time.Duration     `json:"wait" desc:"d"`
	FileMode os.FileMode       `json:"file-mode" desc:"d"`
	Addr     netip.Addr        `json:"addr" desc:"d"`
	List     []string          `json:"list" desc:"d"`
	Pair     [2]int            `json:"pair" desc:"d"`
	Map      map[string]int    `json:"map" desc:"d"`
	Nested   nested            `json:"nested" desc:"d"`
	Pointer  *nested           `json:"pointer" desc:"d"`
	Items    []nested          `yaml:"items" json:"never" desc:"d"`
	ByName   map[string]nested `json:"by-name" desc:"d"`
	Any      any               `json:"any" desc:"d"`
	Embedded
	NoTagHTTPPort int
	Ignored       func() `json:"-"`
}

type nested struct {
	Name string `json:"name" desc:"d"`
	Port int    `json:"port" desc:"d"`
}

// Embedded is part of everything.
type Embedded struct {
	Inner string `json:"inner" desc:"d"`
}

func TestEveryKindOfField(t *testing.T) {
	t.Parallel()
	const text = `
text: 1.10
yes: true
int: -0x10
small: 200
float: 2.5
wait: 1m30s
file-mode: 0654
addr: 2001:db8::1
list: [a, 2, true]
pair: [1, 2]
map: {a: 1, b: 2}
nested: {name: n}
pointer: {name: p}
items:
- &one {name: i, port: 1}
- *one
by-name: {x: {port: 7}}
any: {k: [1, two]}
inner: in
no-tag-http-port: 80
`
	def := everything{Nested: nested{Port: 99}}
	got, found, err := config.Load(config.Text("p", text), def)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	want := everything{
		Text: "1.10", Yes: true, Int: -16, Small: 200, Float: 2.5, Wait: 90 * time.Second, FileMode: 0o654,
		Addr: netip.MustParseAddr("2001:db8::1"), List: []string{"a", "2", "true"}, Pair: [2]int{1, 2},
		Map: map[string]int{"a": 1, "b": 2}, Nested: nested{"n", 99}, Pointer: &nested{Name: "p"},
		Items: []nested{{"i", 1}, {"i", 1}}, ByName: map[string]nested{"x": {Port: 7}},
		Any: map[string]any{"k": []any{1, "two"}}, Embedded: Embedded{"in"}, NoTagHTTPPort: 80,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestWhatIsNotGivenKeepsItsDefault(t *testing.T) {
	t.Parallel()
	def := everything{Text: "default", List: []string{"a"}, Map: map[string]int{"a": 1}, Pointer: &nested{"n", 1}}
	for _, text := range []string{"", "# only a comment\n", "text:\nlist: ~\npointer: null\n", "---\n"} {
		got, _, err := config.Load(config.Text("p", text), def)
		if err != nil || !reflect.DeepEqual(got, def) {
			t.Errorf("%q: %v %+v", text, err, got)
		}
	}
	got, _, err := config.Load(config.Text("p", "list: [x]\nmap: {b: 2}\npointer: {name: m}"), def)
	infratest.Fatal(t, err)
	if got.Pointer.Name != "m" || got.Pointer.Port != 1 || len(got.Map) != 2 || got.List[0] != "x" {
		t.Errorf("merged %+v", got)
	}
	if def.Pointer.Name != "n" || len(def.Map) != 1 || def.List[0] != "a" {
		t.Errorf("the defaults were changed: %+v", def)
	}
}

// TestKeysIgnoreCase checks that keys are found as by the predecessor, which ignores their case.
func TestKeysIgnoreCase(t *testing.T) {
	t.Parallel()
	got, _, err := config.Load(config.Text("p", "Text: a\nNested: {NAME: n}\nFile_Mode: 0600\nMap: {A: 1, a: 2}"), everything{})
	if err != nil || got.Text != "a" || got.Nested.Name != "n" || got.FileMode != 0o600 || got.Map["A"] != 1 || got.Map["a"] != 2 {
		t.Errorf("%v %+v", err, got)
	}
}

// TestFileModes checks that permissions are read in octal digits, and decimal ones of the
// predecessor, too.
func TestFileModes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]os.FileMode{
		"0660": 0o660, `"0660"`: 0o660, "0o660": 0o660, "660": 0o660, `"660"`: 0o660, "0432": 0o432, `"432"`: 0o432,
		"432": 0o660, "384": 0o600, "436": 0o664, "420": 0o644, "438": 0o666, "416": 0o640, "448": 0o700, "493": 0o755, "511": 0o777,
	} {
		got, _, err := config.Load(config.Text("p", "file-mode: "+text), everything{})
		if err != nil || got.FileMode != want {
			t.Errorf("%s: %v %o, want %o", text, err, got.FileMode, want)
		}
	}
}

func TestErrorsNameFileLineAndField(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"text: a\ntxet: b", `p.conf:2: txet: unknown key, did you mean "text"?`},
		{"text: a\nText: b", `p.conf:2: Text: given twice, first in line 1`},
		{"file-mode: 888", `p.conf:1: file-mode: expected a file mode in octal digits (0644), got "888"`},
		{"nested:\n  nam: x\n", `p.conf:2: nested.nam: unknown key, did you mean "name"?`},
		{"nested: {zzz: x}\n", `p.conf:1: nested.zzz: unknown key; known keys: name, port`},
		{"items:\n- {port: 1}\n- {port: x}", `p.conf:3: items[1].port: expected a whole number, got "x"`},
		{"int: 2.5", `p.conf:1: int: expected a whole number, got "2.5"`},
		{"small: 256", `p.conf:1: small: expected a whole number that is not negative, got "256"`},
		{"small: -1", `p.conf:1: small: expected a whole number that is not negative, got "-1"`},
		{"float: much", `p.conf:1: float: expected a number, got "much"`},
		{"yes: maybe", `p.conf:1: yes: expected true or false, got "maybe"`},
		{"yes: \"true\"", `p.conf:1: yes: expected true or false, got "true"`},
		{"text: [a]", `p.conf:1: text: expected text, got a list`},
		{"list: a", `p.conf:1: list: expected a list, got "a"`},
		{"nested: a", `p.conf:1: nested: expected a mapping, got "a"`},
		{"map: [a]", `p.conf:1: map: expected a mapping, got a list`},
		{"wait: 5 minutes", `p.conf:1: wait: expected a duration ("1s", "250ms"), got "5 minutes"`},
		{"wait: 1.5", `p.conf:1: wait: expected a duration`},
		{"file-mode: 0999", `p.conf:1: file-mode: expected a file mode in octal digits (0644), got "0999"`},
		{"addr: here", `p.conf:1: addr: ParseAddr("here")`},
		{"pair: [1]", `p.conf:1: pair: expected 2 items, got 1`},
		{"text: a\ntext: b", `p.conf:2: text: given twice, first in line 1`},
		{"- a", `p.conf:1: expected a mapping, got a list`},
		{"text: a\n---\ntext: b", `p.conf: expected one YAML document`},
		{"text: [", `p.conf: line 1:`},
		{"text: \"\xff\"", `p.conf: `},
		{"? [a]\n: b", `p.conf:1: expected a key, got a list`},
		{"int: 99999999999999999999", `p.conf:1: int: expected a whole number`},
	} {
		_, _, err := config.Load(config.Text("p", test.text), everything{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	t.Parallel()
	_, _, err := config.Load(config.Text("p", "int: x\nyes: y\nzzzzzz: 1"), everything{})
	if err == nil || strings.Count(err.Error(), "p.conf:") != 3 {
		t.Errorf("got %v", err)
	}
	var fe *config.FieldError
	if !errors.As(err, &fe) || fe.Line != 1 || fe.Field != "int" {
		t.Errorf("first: %+v", fe)
	}
}

func TestDurationsMayBeNumbers(t *testing.T) {
	t.Parallel()
	got, _, err := config.Load(config.Text("p", "wait: 1000000000"), everything{})
	if err != nil || got.Wait != time.Second {
		t.Error(got.Wait, err)
	}
}

func TestASmallFileCannotExpandWithoutEnd(t *testing.T) {
	t.Parallel()
	type deep struct {
		A []string       `json:"a"`
		B [][]string     `json:"b"`
		C [][][]string   `json:"c"`
		D [][][][]string `json:"d"`
	}
	item := func(name string) string { return strings.Repeat("*"+name+",", 40) }
	bomb := "a: &a [" + strings.Repeat("s,", 40) + "]\nb: &b [" + item("a") + "]\nc: &c [" + item("b") + "]\nd: [" + item("c") + "]\n"
	_, _, err := config.Load(config.Text("p", bomb), deep{})
	if err == nil || !strings.Contains(err.Error(), "values") {
		t.Errorf("got %v", err)
	}
}

type checked struct {
	Port int `json:"port" desc:"where"`
}

func (c *checked) Validate() error {
	if c.Port == 0 {
		return errors.New("port: expected a number above 0")
	}
	return nil
}

func TestValidateIsCalledInTheEnd(t *testing.T) {
	t.Parallel()
	if _, _, err := config.Load(config.Text("p", "port: 0"), checked{1}); err == nil || err.Error() != "p.conf: port: expected a number above 0" {
		t.Errorf("got %v", err)
	}
	if _, _, err := config.Load(config.Text("p", "port: 2"), checked{}); err != nil {
		t.Error(err)
	}
	cfg, _, err := config.LoadAny(config.Text("p", "port: 2"), &checked{})
	if err != nil || cfg.(*checked).Port != 2 {
		t.Error(cfg, err)
	}
	if _, _, err := config.LoadAny(config.Text("p", "port: 0"), checked{}); err == nil {
		t.Error("LoadAny did not validate")
	}
}

func TestFilesByName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "p.conf")
	read := func(environ config.Environ, args ...string) (string, bool, error) {
		f := config.NewFlags("prog", environ)
		s := f.Source("P")
		if _, err := f.Parse(args); err != nil {
			return "", false, err
		}
		data, _, found, err := s.Read()
		return string(data), found, err
	}
	if _, found, err := read(config.NoEnviron, "--config-dir", dir); found || err != nil {
		t.Errorf("absent default file: %v %v", found, err)
	}
	infratest.Fatal(t, os.WriteFile(file, []byte("x"), 0o600))
	if data, found, err := read(config.NoEnviron, "-config-dir="+dir); data != "x" || !found || err != nil {
		t.Errorf("default file: %q %v %v", data, found, err)
	}
	if _, _, err := read(config.NoEnviron, "--p-config", filepath.Join(dir, "no")); err == nil {
		t.Error("a file that was named and is absent is no error")
	}
	if _, _, err := read(config.NoEnviron, "--p-config", dir); err == nil {
		t.Error("a directory is no error")
	}
	infratest.Fatal(t, os.Truncate(file, 5<<20))
	if _, _, err := read(config.NoEnviron, "--p-config", file); err == nil || !strings.Contains(err.Error(), "more than a configuration file may have") {
		t.Errorf("a huge file: %v", err)
	}
}

func TestSingleDash(t *testing.T) {
	t.Parallel()
	f := config.NewFlags("prog", config.NoEnviron)
	verbose := f.BoolP("verbose", "v", false, "")
	number := f.IntP("number", "n", 0, "")
	rest, err := f.Parse([]string{"-verbose", "-n", "3", "cmd", "--", "-verbose=false"})
	if err != nil || !*verbose || *number != 3 || strings.Join(rest, " ") != "cmd -verbose=false" {
		t.Error(*verbose, *number, rest, err)
	}
	if _, err := f.Parse([]string{"-help"}); !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("-help: %v", err)
	}
}

func TestEnvKnowsListedVariablesOnly(t *testing.T) {
	t.Setenv("VPP_BIN", "/bin/vpp")
	t.Setenv("SECRET_SWITCH", "1")
	if v, ok := config.Env("VPP_BIN"); !ok || v != "/bin/vpp" {
		t.Error(v, ok)
	}
	if v, ok := config.Env("SECRET_SWITCH"); ok {
		t.Error(v)
	}
	t.Setenv("STANDALONE_CONFIG", filepath.Join(t.TempDir(), "no"))
	if _, _, _, err := config.ForPlugin("standalone").Read(); err == nil {
		t.Error("STANDALONE_CONFIG was not looked at")
	}
}

func TestPrintAndLint(t *testing.T) {
	t.Parallel()
	type auth struct {
		Users []string `json:"users" secret:"true" desc:"who may come in"`
		Key   string   `json:"key" secret:"true" desc:"not set here"`
	}
	type good struct {
		Wait time.Duration  `json:"wait" desc:"how long"`
		Mode os.FileMode    `json:"mode" desc:"bits"`
		Auth auth           `json:"auth" desc:"locks"`
		List []nested       `json:"list" desc:"things"`
		Map  map[string]int `json:"map" desc:"numbers"`
		Text string         `json:"text" desc:"looks like a number"`
	}
	def := good{Wait: time.Second, Mode: 0o640, Auth: auth{Users: []string{"a:b"}}, List: []nested{{"n", 1}}, Text: "007"}
	if err := config.Lint(def); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	infratest.Fatal(t, config.Print(&b, def))
	const want = `# how long
wait: 1s
# bits
mode: 0640
# locks
auth:
  # who may come in
  users:
    - '***'
  # not set here
  key: ""
# things
list:
  - # d
    name: "n"
    # d
    port: 1
# numbers
map: {}
# looks like a number
text: "007"
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	type bad struct {
		NoTag   int
		Camel   int            `json:"camelCase" desc:"d"`
		NoDesc  int            `json:"no-desc"`
		Twice   int            `yaml:"no-desc" desc:"d"`
		Channel chan int       `json:"channel" desc:"d"`
		Keys    map[int]string `json:"keys" desc:"d"`
	}
	err := config.Lint(bad{})
	for _, want := range []string{
		"no-tag: field without a tag `json`", "camelCase: the key is not", "no-desc: field without a tag `desc`",
		"no-desc: key used twice", "channel: a chan int cannot be read", "keys: keys of type int",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	if err := config.Lint(checked{}); err == nil || !strings.Contains(err.Error(), "the defaults are not valid") {
		t.Errorf("defaults: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("text: a\nitems: [{name: b}]\nwait: 1s"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("<<: {text: a}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e everything
		_ = config.Decode(data, "fuzz", &e) // must neither panic nor hang
	})
}

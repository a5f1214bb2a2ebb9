package kvstest

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a testing.TB that remembers failures instead of failing.
type recorder struct {
	testing.TB
	failures []string
}

type stopped struct{}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(stopped{})
}

// play runs a script and returns what it complains about, and the script with
// the outputs it had.
func play(t *testing.T, text string, update bool) (failures, rewritten string) {
	t.Helper()
	s, err := parseScript(text)
	if err != nil {
		return err.Error(), ""
	}
	r := &recorder{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != (stopped{}) {
				panic(p)
			}
		}()
		rewritten = s.format(s.run(r, "x.txtar", MockWorld, update))
	}()
	return strings.Join(r.failures, "\n"), rewritten
}

const story = `# A story.
descriptor if if/ metadata

commit 'if/1={value: 1}' if/2 if/3=other
> CREATE if/1
> CREATE if/2
> CREATE if/3
fail update if/1 permanent
commit if/1=other -if/2
> DELETE if/2
> UPDATE if/1 [FAILED]: it will never work
> error: update if/1: it will never work
sb
> if/1 { value:1 }
> if/3 { value:5 note:"x" }
-- if/2 --
value: 2
-- other --
{value: 5, note: x}
`

func TestScript(t *testing.T) {
	t.Parallel()
	failures, rewritten := play(t, story, false)
	if failures != "" || rewritten != story {
		t.Errorf("%s\n%s", failures, rewritten)
	}
	wrong := strings.Replace(story, "> DELETE if/2\n", "", 1)
	if failures, _ := play(t, wrong, false); !strings.Contains(failures, "x.txtar:9: commit if/1=other -if/2") {
		t.Errorf("a wrong output: %s", failures)
	}
	if failures, rewritten := play(t, wrong, true); failures != "" || rewritten != story {
		t.Errorf("rewriting: %s\n%s", failures, rewritten)
	}
}

func TestScriptErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"> output":                         "line 1: output without a command",
		"commit 'if/1":                     "quote is not closed",
		"fly":                              "unknown command: expected one of apply, calls, changes, commit",
		"commit if/1=nowhere":              `there is no file "nowhere"`,
		"commit 'if/1={color: 1}'":         "unknown field",
		"commit 'if/1={value: [}'":         "yaml",
		"commit --often if/1":              "unknown option --often",
		"commit --resync=some":             "expected full, upstream or downstream",
		"descriptor if":                    "expected name and key prefix",
		"descriptor if if/ weird":          `unknown kind of descriptor "weird"`,
		"fail break if/1":                  "expected create, update, delete or retrieve",
		"tick soon":                        "invalid duration",
		"session vpp sideways x":           "expected up or down",
		"changes if/1":                     "not watching",
		"dump up if":                       "expected SB, NB or cached",
		"descriptor a a/\ndescriptor a b/": "already exists",
	} {
		if failures, _ := play(t, text, false); !strings.Contains(failures, want) {
			t.Errorf("%q: want %q, got %q", text, want, failures)
		}
	}
}

package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/cli"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// TestFleet executes the boxes of fleet.md in their order, with the files of its yaml boxes. The output must
// contain the lines of a box.
func TestFleet(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("fleet.md")
	infratest.Fatal(t, err)
	dir := t.TempDir()
	files := regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	for _, f := range files {
		file := filepath.Join(dir, f[1])
		infratest.Fatal(t, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(f[2]), 0o600))
	}
	if boxes := strings.Count(string(text), "```yaml"); boxes != len(files) {
		t.Errorf("%d of %d yaml boxes have the name of a file", len(files), boxes)
	}
	executed := 0
	for _, box := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		line, want, _ := strings.Cut(box[1], "\n")
		out := fleetCommand(t, dir, strings.TrimPrefix(line, "$ "))
		for l := range strings.Lines(want) {
			if !strings.Contains(out, l) {
				t.Errorf("%s: no line %q in\n%s", line, l, out)
			}
		}
		executed++
	}
	if executed < 4 {
		t.Errorf("%d commands executed, expected 4 or more", executed)
	}
}

// fleetCommand runs a command with the files in a directory, and returns what it prints.
func fleetCommand(t *testing.T, dir, line string) string {
	t.Helper()
	args := strings.Fields(line)
	for i, a := range args {
		if strings.Contains(a, "/") {
			args[i] = filepath.Join(dir, a)
		}
	}
	if args[0] == "cat" {
		text, err := os.ReadFile(args[1])
		infratest.Fatal(t, err)
		return string(text)
	}
	var out, errs bytes.Buffer
	code := cli.Run(t.Context(), args[1:], cli.Streams{Out: &out, Err: &errs}, config.NoEnviron)
	if failed := strings.Contains(line, "wrong/"); failed != (code == 1) || code > 1 {
		t.Errorf("%s: exit code %d", line, code)
	}
	return strings.ReplaceAll(out.String()+errs.String(), dir+"/", "")
}

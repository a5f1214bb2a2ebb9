package docs

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The code of the predecessor's tutorial, with other import paths only, has
// descriptors without Delete and ignores the error of their registration. The last
// message before the end says which descriptor lacks what.
func TestTutorial05OfThePredecessor(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "tutorial05")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./testdata/tutorial05").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Dir = t.TempDir()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var logged []string
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		logged = append(logged, lines.Text())
		if strings.Contains(lines.Text(), " ERROR helloworld ") {
			break
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		t.Log(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ended with %v", err)
	}
	all, last := strings.Join(logged, "\n"), ""
	if len(logged) > 0 {
		last = logged[len(logged)-1]
	}
	for _, descriptor := range []string{"if-descriptor", "route-descriptor"} {
		if want := `descriptor "` + descriptor + `": Create without Delete`; !strings.Contains(last, want) {
			t.Errorf("the last message is %q, expected %q", last, want)
		}
		if want := `ERROR kvscheduler descriptor refused: its values will be INVALID {"descriptor": "` + descriptor; !strings.Contains(all, want) {
			t.Errorf("no line %q in\n%s", want, all)
		}
	}
}

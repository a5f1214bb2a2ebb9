package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// The manual has a page for each command.
func TestManual(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	infratest.Fatal(t, run([]string{dir}))
	text, err := os.ReadFile(filepath.Join(dir, "agentctl-config-get.1"))
	if err != nil || !strings.Contains(string(text), "agentctl config get > net.yaml") {
		t.Errorf("%v\n%s", err, text)
	}
	if err := run(nil); err == nil {
		t.Error("expected an error without a directory")
	}
}

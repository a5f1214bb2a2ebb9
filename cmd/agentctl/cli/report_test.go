package cli

import (
	"archive/zip"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// TestDumpOfWhatCanBeRead checks that a descriptor that cannot read the southbound does not end
// the dump of the others.
func TestDumpOfWhatCanBeRead(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	r := f.run(t, nil, "dump", "--view", "SB", "all")
	if r.code != 0 || !strings.Contains(r.out, "loop7") || !strings.Contains(r.err, "not read: ") || !strings.Contains(r.err, "vpp-bridge-domain") {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
	f.run(t, nil, "dump", "--view", "SB", "vpp.l2.bridge-domain").wants(t, exit.CodeError, "cannot read the southbound")
}

func TestReport(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	dir := t.TempDir()
	args := []string{"--grpc-socket", filepath.Join(dir, "none"), "report", "-o", dir}
	const missing = "vpp-running-config(vpp-agent-SB-dump).yaml" // needs gRPC
	r := f.run(t, nil, args...)
	path := filepath.Join(dir, "agentctl-report--2026-11-21--00-38-00.zip")
	if r.code != exit.CodeError || r.out != path+"\n" || !strings.Contains(r.err, "1 parts of the report are missing: "+missing) {
		t.Fatalf("exit %d, %s%s", r.code, r.out, r.err)
	}
	archive, err := zip.OpenReader(path)
	infratest.Fatal(t, err)
	defer archive.Close()
	files := map[string]string{}
	for _, file := range archive.File {
		in, err := file.Open()
		infratest.Fatal(t, err)
		text, err := io.ReadAll(in)
		infratest.Fatal(t, err)
		files[file.Name] = string(text)
	}
	for name, want := range map[string]string{
		"_report.txt":                                "agent at " + f.URL + "\n",
		"_failed-reports.txt":                        missing + ": agentctl config retrieve: no agent serves gRPC",
		"software-versions.txt":                      "agentctl  ",
		"agent-status.txt":                           "PLUGINS",
		"agent-values.txt":                           "vpp.l2.bridge-domain",
		"agent-transaction-history.txt":              "Transaction #",
		"agent-NB-config.yaml":                       "vppConfig",
		"agent-kvscheduler-SB-config-view.txt":       "vpp.interfaces",
		"agent-metrics.txt":                          `a_total{x="2"} 3`,
		"vpp-startup-config.txt":                     "show version cmdline",
		"vpp-statistics-errors.txt":                  "show errors",
		"hardware.txt":                               "# /proc/meminfo\nMemTotal",
		"vpp-running-config(vpp-agent-SB-dump).yaml": "ERROR",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q:\n%s", name, want, files[name])
		}
	}
	if len(files) != 23 {
		t.Errorf("%d files", len(files))
	}
	f.run(t, nil, args...).wants(t, exit.CodeError, "--output-directory: ")
	other := t.TempDir()
	f.run(t, nil, "--grpc-socket", filepath.Join(dir, "none"), "report", "-i", "-o", other).wants(t, 0, "")
	f.run(t, nil, "report", "-o", filepath.Join(dir, "none")).wants(t, exit.CodeError, "--output-directory: ")
}

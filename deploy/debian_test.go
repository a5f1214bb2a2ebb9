package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv/filedb"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// Scripts that stand for agentctl and the program of the manual pages.
const (
	standInAgentctl = "#!/bin/sh\n" + `echo "completion for $2"` + "\n"
	standInMan      = "#!/bin/sh\n" + `echo '.TH "AGENTCTL" "1"' >"$1/agentctl.1"` + "\n"
)

// debian builds a package of programs that are no more than scripts; make check-packages
// does it with the real ones.
func debian(t *testing.T, arch, version string) (file string) {
	t.Helper()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("SKIPPED: there is no dpkg-deb here (Debian: apt install dpkg); the package is not built")
	}
	dir, out := t.TempDir(), t.TempDir()
	for program, text := range map[string]string{"vpp-agent": standInAgentctl, "vpp-agent-init": standInAgentctl, "tenuto-controller": standInAgentctl, "agentctl": standInAgentctl, "man": standInMan} {
		if err := infratest.Script(filepath.Join(dir, program), text); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "debian/build", arch, version, dir, filepath.Join(dir, "agentctl"), filepath.Join(dir, "man"), out)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	files, err := filepath.Glob(out + "/*.deb")
	if err != nil || len(files) != 1 {
		t.Fatalf("built %q, %v", files, err)
	}
	return files[0]
}

func dpkgDeb(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "dpkg-deb", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("dpkg-deb %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestDebianPackage(t *testing.T) {
	t.Parallel()
	deb := debian(t, "arm64", "v1.2.3")
	for field, want := range map[string]string{"Package": "vpp-agent", "Version": "1.2.3", "Architecture": "arm64"} {
		if got := strings.TrimSpace(dpkgDeb(t, "-f", deb, field)); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
	var found []string
	for _, line := range strings.Split(strings.TrimSpace(dpkgDeb(t, "-c", deb)), "\n") {
		f := strings.Fields(line)
		found = append(found, f[0]+" "+f[len(f)-1])
		if f[1] != "root/root" || f[3] != "2023-11-14" {
			t.Errorf("%s: of another owner or time", line)
		}
	}
	for _, want := range []string{
		"-rwxr-xr-x ./usr/bin/vpp-agent", "-rwxr-xr-x ./usr/bin/vpp-agent-init", "-rwxr-xr-x ./usr/bin/agentctl",
		"-rwxr-xr-x ./usr/bin/tenuto-controller", "-rw-r--r-- ./usr/lib/systemd/system/tenuto-controller.service",
		"-rw-r--r-- ./usr/lib/systemd/system/vpp-agent.service", "-rw-r--r-- ./usr/lib/systemd/system/vpp-agent-init.service",
		"drwxr-x--- ./etc/vpp-agent/", "-rw-r----- ./etc/vpp-agent/http.conf", "-rw-r----- ./etc/vpp-agent/network.yaml",
		"-rw-r--r-- ./usr/share/man/man1/agentctl.1.gz", "-rw-r--r-- ./usr/share/bash-completion/completions/agentctl",
		"-rw-r--r-- ./usr/share/zsh/vendor-completions/_agentctl", "-rw-r--r-- ./usr/share/fish/vendor_completions.d/agentctl.fish",
		"-rw-r--r-- ./usr/share/vpp-agent/vpp-agent.schema.json", "-rw-r--r-- ./usr/share/doc/vpp-agent/copyright",
		"-rw-r--r-- ./usr/share/doc/vpp-agent/changelog.gz", "-rw-r--r-- ./usr/share/doc/vpp-agent/examples/prometheus/alerts.yaml",
	} {
		if !slices.Contains(found, want) {
			t.Errorf("%q is not in the package:\n%s", want, strings.Join(found, "\n"))
		}
	}
	// Files below /etc belong to the administrator: all of them are kept at an upgrade.
	var files []string
	listed := strings.Fields(dpkgDeb(t, "-I", deb, "conffiles"))
	for _, f := range found {
		if _, name, ok := strings.Cut(f, "./etc/"); ok && name != "" && !strings.HasSuffix(name, "/") {
			files = append(files, "/etc/"+name)
		}
	}
	if slices.Sort(listed); !slices.Equal(listed, files) {
		t.Errorf("conffiles %q, files %q", listed, files)
	}
}

// The same input gives the same bytes.
func TestDebianPackageIsReproducible(t *testing.T) {
	t.Parallel()
	first, err1 := os.ReadFile(debian(t, "amd64", "v1.2.3"))
	second, err2 := os.ReadFile(debian(t, "amd64", "v1.2.3"))
	if err1 != nil || err2 != nil || !bytes.Equal(first, second) {
		t.Errorf("made twice, the package differs: %v, %v", err1, err2)
	}
}

// Versions are in the order that git describe gives them.
func TestDebianVersions(t *testing.T) {
	t.Parallel()
	previous := ""
	for _, v := range []struct{ describe, version string }{
		{"0123abc", "0~20231114.0123abc"}, {"0123abc-dirty", "0~20231114.0123abc+dirty"}, {"v0.9.0", "0.9.0"}, {"v1.0.0-rc1", "1.0.0~rc1"},
		{"v1.0.0-rc1-5-gabc1234", "1.0.0~rc1+5.gabc1234"}, {"v1.0.0", "1.0.0"}, {"v1.0.0-12-gabc1234", "1.0.0+12.gabc1234"},
		{"v1.0.0-12-gabc1234-dirty", "1.0.0+12.gabc1234+dirty"}, {"v1.0.1", "1.0.1"},
	} {
		got := strings.TrimSpace(dpkgDeb(t, "-f", debian(t, "amd64", v.describe), "Version"))
		if got != v.version {
			t.Errorf("%s: version %s, want %s", v.describe, got, v.version)
		}
		if err := exec.CommandContext(t.Context(), "dpkg", "--compare-versions", previous, "lt", got).Run(); err != nil {
			t.Errorf("%s is not newer than %s", got, previous)
		}
		previous = got
	}
}

// What the package configures is valid, and changes nothing in the network.
func TestDebianConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := filepath.Glob("debian/etc/*")
	if err != nil || len(files) < 5 {
		t.Fatalf("files %q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	checkCommand(t, dir, []string{"/usr/bin/vpp-agent", "--config-dir=" + configDir, "config", "validate"})
	text, err := os.ReadFile(dir + "/filedb.conf")
	if err != nil {
		t.Fatal(err)
	}
	conf, _, err := config.Load(config.Text("filedb", string(text)), filedb.DefaultConfig())
	if err != nil || !slices.Equal(conf.ConfigurationPaths, []string{"/etc/vpp-agent/network.yaml"}) {
		t.Errorf("filedb.conf: %+v, %v", conf, err)
	}
	checkNetwork(t, dir+"/network.yaml")
}

// checkNetwork makes sure that a file has no items as it is, and valid ones without the
// marks of comments before its example.
func checkNetwork(t *testing.T, file string) {
	t.Helper()
	set, err := allmodels.Set()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, example, ok := strings.Cut(string(text), "\n#\n# vppConfig:")
	if !ok {
		t.Fatalf("no example in\n%s", text)
	}
	codec := document.New(set)
	for want, text := range map[int]string{0: string(text), 1: "vppConfig:" + strings.ReplaceAll(example, "\n# ", "\n")} {
		doc := codec.Decode("network.yaml", []byte(text), "")
		if len(doc.Errs) > 0 || len(doc.Items) != want {
			t.Errorf("%d items, want %d: %v\n%s", len(doc.Items), want, doc.Errs, text)
		}
	}
}

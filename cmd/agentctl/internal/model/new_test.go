package model

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// checkout returns a directory with the go.mod of Tenuto.
func checkout(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "with space")
	infratest.Fatal(t, os.Mkdir(dir, 0o700))
	infratest.Fatal(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module github.com/tenuto-dev/tenuto\n"), 0o600))
	return dir
}

// write runs "agentctl model new".
func write(t *testing.T, args ...string) error {
	t.Helper()
	cmd := newNew(cmdutil.NewFactory(output.Streams{Out: new(bytes.Buffer)}, config.NoEnviron, time.Now, output.Terminal{}))
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	return cmd.ExecuteContext(t.Context())
}

// The files that are written have no word of a template left, and are formatted Go.
// TestCustomAgents in docs builds them.
func TestNewWritesFormattedFiles(t *testing.T) {
	t.Parallel()
	checkout := checkout(t)
	for _, args := range [][]string{
		{"motd.message"},
		{"acme.errors.cash-desk", "--module", "acme.example/shop/v2"},
	} {
		dir := filepath.Join(t.TempDir(), "agent")
		infratest.Fatal(t, write(t, append(args, "--dir", dir, "--checkout", checkout)...))
		count := 0
		infratest.Fatal(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			count++
			text, err := os.ReadFile(filepath.Join(dir, name))
			if bytes.Contains(text, []byte("$")) {
				t.Errorf("%s: a word of the template is left:\n%s", name, text)
			}
			if name == "go.mod" && !bytes.Contains(text, []byte(`"`+checkout+`"`)) {
				t.Errorf("go.mod: expected the quoted path of %q:\n%s", checkout, text)
			}
			if formatted, err := format.Source(text); filepath.Ext(name) == ".go" && !bytes.Equal(formatted, text) {
				t.Errorf("%s of %s: not formatted (%v):\n%s", name, args, err, text)
			}
			return err
		}))
		if count != len(skeletonFiles) {
			t.Errorf("%s: %d files, expected %d", args, count, len(skeletonFiles))
		}
	}
}

// Refused arguments write nothing.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	checkout, dir := checkout(t), filepath.Join(t.TempDir(), "agent")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"expected the name of a model, MODULE.TYPE in lower case", []string{"motd"}},
		{"expected the name of a model, MODULE.TYPE in lower case", []string{"Motd.message"}},
		{"expected the name of a model, MODULE.TYPE in lower case", []string{"a.b.c.d"}},
		{"models of Tenuto begin with vpp", []string{"vpp.motd.message"}},
		{"the Go package of the plugin cannot have the name func", []string{"func.message"}},
		{"the Go package of the plugin cannot have the name filedb", []string{"acme.filedb.message"}},
		{`--module "a b": expected the path of a Go module`, []string{"motd.message", "--module", "a b"}},
		{`--checkout "": expected the directory with the source of Tenuto`, []string{"motd.message", "--checkout", ""}},
		{"expected the directory with the source of Tenuto", []string{"motd.message", "--checkout", t.TempDir()}},
	} {
		err := write(t, append([]string{"--dir", dir, "--checkout", checkout}, c.args...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, expected %q", c.args, err, c.want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Fatalf("%q: wrote into the directory", c.args)
		}
	}
	infratest.Fatal(t, os.Mkdir(dir, 0o700))
	infratest.Fatal(t, os.WriteFile(filepath.Join(dir, "items.yaml"), []byte("mine"), 0o600))
	if err := write(t, "motd.message", "--dir", dir, "--checkout", checkout); err == nil || !strings.Contains(err.Error(), "items.yaml exists") {
		t.Errorf("a directory with items.yaml: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		t.Error("wrote next to a file of the user")
	}
}

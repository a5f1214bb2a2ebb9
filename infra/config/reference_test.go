package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// vault is a configuration with secrets.
type vault struct {
	Password string   `json:"password" secret:"true" desc:"d"`
	Tokens   []string `json:"tokens" secret:"true" desc:"d"`
	URL      string   `json:"url" desc:"d"`
	Port     int      `json:"port" desc:"d"`
	On       bool     `json:"on" desc:"d"`
	Any      any      `json:"any" desc:"d"`
}

// loadVault reads a configuration file with the mode; opened are the files that
// were warned about.
func loadVault(t *testing.T, dir, text string, mode os.FileMode) (cfg vault, opened []string, err error) {
	t.Helper()
	path := filepath.Join(dir, "vault.conf")
	writeMode(t, path, text, mode)
	flags := config.NewFlags("test", config.EnvMap(map[string]string{"SECRET": "geheim", "PORT": "8080", "EMPTY": "", "NESTED": "${env:SECRET}"}))
	flags.OnOpenFile(func(plugin, file string) {
		if plugin != "vault" {
			t.Errorf("warned about plugin %q", plugin)
		}
		opened = append(opened, filepath.Base(file))
	})
	source := flags.Source("vault")
	if _, err := flags.Parse([]string{"--config-dir", dir}); err != nil {
		t.Fatal(err)
	}
	cfg, _, err = config.Load(source, vault{})
	return cfg, opened, err
}

func writeMode(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	infratest.Fatal(t, os.WriteFile(path, []byte(text), 0o600))
	infratest.Fatal(t, os.Chmod(path, mode))
}

func TestReferences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeMode(t, filepath.Join(dir, "password"), "from a file\r\n\n", 0o600)
	writeMode(t, filepath.Join(dir, "open"), "open", 0o644)
	for text, want := range map[string]struct {
		cfg    vault
		opened string
	}{
		"password: ${env:SECRET}":                          {vault{Password: "geheim"}, ""},
		"password: ${file:password}":                       {vault{Password: "from a file"}, ""},
		"password: '${file:" + dir + "/password}'":         {vault{Password: "from a file"}, ""},
		"tokens: ['a-${env:SECRET}-b', '${file:open}']":    {vault{Tokens: []string{"a-geheim-b", "open"}}, "open"},
		"url: http://me:${env:SECRET}@host:${env:PORT}":    {vault{URL: "http://me:geheim@host:8080"}, ""},
		"url: '${env:NESTED}${env:EMPTY}'":                 {vault{URL: "${env:SECRET}"}, ""},
		"url: $${env:SECRET} $$ $x $${":                    {vault{URL: "${env:SECRET} $$ $x ${"}, ""},
		"port: ${env:PORT}":                                {vault{Port: 8080}, ""},
		"port: '${env:PORT}'":                              {vault{Port: 8080}, ""},
		"any: {a: [1, '${env:SECRET}'], b: '${env:PORT}'}": {vault{Any: map[string]any{"a": []any{1, "geheim"}, "b": 8080}}, ""},
		"password: plain":                                  {vault{Password: "plain"}, "vault.conf"},
		"tokens: ['$${plain']":                             {vault{Tokens: []string{"${plain"}}, "vault.conf"},
		"password: ''":                                     {vault{}, ""},
		"url: plain":                                       {vault{URL: "plain"}, ""},
	} {
		cfg, opened, err := loadVault(t, dir, text, 0o644)
		if err != nil || !reflect.DeepEqual(cfg, want.cfg) || strings.Join(opened, " ") != want.opened {
			t.Errorf("%s: got %+v, %v, %v", text, cfg, opened, err)
		}
	}
	if _, opened, err := loadVault(t, dir, "password: plain", 0o640); err != nil || opened != nil {
		t.Errorf("of a file that not everybody can read: %v, %v", opened, err)
	}
}

func TestReferencesThatAreWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeMode(t, filepath.Join(dir, "large"), strings.Repeat("x", 65<<10), 0o600)
	for text, want := range map[string]string{
		"url: ${env:NOT_SET}":        "vault.conf:1: url: ${env:NOT_SET}: the environment variable is not set",
		"url: ${file:none}":          "url: stat " + dir + "/none: no such file or directory",
		"url: ${file:" + dir + "}":   "url: " + dir + ": expected a regular file",
		"url: ${file:large}":         "large: 66560 bytes, expected at most 65536",
		"url: ${SECRET}":             "url: ${SECRET}: expected ${env:NAME} or ${file:PATH}, or $${ for a literal ${",
		"url: ${env:}":               "url: ${env:}: expected ${env:NAME}",
		"url: ${vault:x}":            "url: ${vault:x}: expected ${env:NAME}",
		"url: ${env:SECRET":          "url: ${ without }; expected",
		"port: ${env:SECRET}":        "port: expected a whole number, got something else from ${env:SECRET}",
		"on: ${env:SECRET}":          "on: expected true or false, got something else from ${env:SECRET}",
		"any: [a, '${env:NOT_SET}']": "any: ${env:NOT_SET}: the environment variable is not set",
	} {
		_, _, err := loadVault(t, dir, text, 0o600)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// Printed values are read back as the same values. No secret is printed.
func TestPrintedReferences(t *testing.T) {
	t.Parallel()
	cfg := vault{Password: "geheim", URL: "${env:X} $${ $"}
	var b bytes.Buffer
	infratest.Fatal(t, config.Print(&b, cfg))
	if strings.Contains(b.String(), "geheim") {
		t.Errorf("printed\n%s", b.String())
	}
	again, _, err := config.Load(config.Text("vault", b.String()), vault{})
	if err != nil || again.URL != cfg.URL {
		t.Errorf("%v: read %+v from\n%s", err, again, b.String())
	}
	if err := config.Lint(cfg); err != nil {
		t.Error(err)
	}
}

func FuzzReferences(f *testing.F) {
	f.Add("a ${env:SECRET} $${ ${file:x}")
	f.Fuzz(func(t *testing.T, text string) {
		cfg := vault{URL: text}
		var b bytes.Buffer
		if config.Print(&b, cfg) != nil {
			return
		}
		again, _, err := config.Load(config.Text("vault", b.String()), vault{})
		if err == nil && again.URL != text && strings.Contains(text, "${") {
			t.Errorf("%q became %q by\n%s", text, again.URL, b.String())
		}
	})
}

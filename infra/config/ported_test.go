package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// portedConfig is as the documents of cn-infra show a configuration.
type portedConfig struct {
	DbPath      string        `json:"db-path"`
	FileMode    os.FileMode   `json:"file-mode"`
	LockTimeout time.Duration `json:"lock-timeout"`
	Greeting    string
}

func TestLoadValue(t *testing.T) {
	t.Parallel()
	cfg := portedConfig{LockTimeout: time.Second}
	source := config.Text("bolt", "db-path: /tmp/bolt.db\nfile-mode: 0654\ngreeting: Hello\n")
	found, err := source.LoadValue(&cfg)
	want := portedConfig{DbPath: "/tmp/bolt.db", FileMode: 0o654, LockTimeout: time.Second, Greeting: "Hello"}
	if err != nil || !found || cfg != want {
		t.Errorf("got %+v, %v, %v, expected %+v", cfg, found, err, want)
	}
	if name := source.GetConfigName(); name != "" {
		t.Errorf("got file %q, expected none", name)
	}
	for text, bad := range map[string]struct {
		source config.PluginConfig
		into   any
	}{
		"expected a pointer to a struct, got config_test.portedConfig":  {source, cfg},
		"expected a pointer to a struct, got *config_test.portedConfig": {source, (*portedConfig)(nil)},
		"expected a pointer to a struct, got <nil>":                     {source, nil},
		"db-pat": {config.Text("bolt", "db-pat: x\n"), &portedConfig{}},
	} {
		if _, err := bad.source.LoadValue(bad.into); !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("got error %v, expected %q", err, text)
		}
	}
}

// A source of ForPlugin reads the file that the flags of its agent name.
func TestBind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"greeter.conf": "greeting: Hello\n", "special.conf": "greeting: Ahoy\n"} {
		infratest.Fatal(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var times *int
	define := func(flags *config.FlagSet) { times = flags.Int("greetings", 1, "how often to greet") }
	plain := config.ForPlugin("greeter", config.WithExtraFlags(define))
	custom := config.ForPlugin("other", config.WithCustomizedFlag("special", "special.conf", "file of the other"))
	flags := config.NewFlags("test", config.EnvMap(map[string]string{"GREETINGS": "3"}))
	for _, s := range []config.Source{plain, custom, custom, nil, config.Text("x", "")} {
		infratest.Fatal(t, config.Bind(s, flags))
	}
	if _, err := flags.Parse([]string{"--config-dir", dir}); err != nil {
		t.Fatal(err)
	}
	if *times != 3 {
		t.Errorf("the flag is %d, expected the 3 of the environment", *times)
	}
	for _, test := range []struct {
		source         config.PluginConfig
		greeting, file string
	}{{plain, "Hello", "greeter.conf"}, {custom, "Ahoy", "special.conf"}} {
		var cfg portedConfig
		found, err := test.source.LoadValue(&cfg)
		if err != nil || !found || cfg.Greeting != test.greeting {
			t.Errorf("%s: got %+v, %v, %v, expected %q", test.source.Name(), cfg, found, err, test.greeting)
		}
		if got, want := test.source.GetConfigName(), filepath.Join(dir, test.file); got != want {
			t.Errorf("got file %q, expected %q", got, want)
		}
	}
	err := config.Bind(config.ForPlugin("again", config.WithExtraFlags(define)), flags)
	if text := fmt.Sprint(err); !strings.Contains(text, "flags of plugin again: ") || !strings.Contains(text, "greetings") {
		t.Errorf("got error %v, expected one for a flag that exists", err)
	}
}

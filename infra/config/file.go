package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFileSize limits the configuration file of a plugin, which is written by
// hand.
const maxFileSize = 4 << 20

// ForPlugin returns the source of a plugin that runs without an agent: the
// file named by <PLUGIN>_CONFIG, or <plugin>.conf in CONFIG_DIR or in the
// working directory.
//
// In an agent it is the source that the flags of the agent name.
func ForPlugin(name string, opts ...Option) PluginConfig {
	s := &standalone{name: name}
	for _, o := range opts {
		o(s)
	}
	return s
}

// fileSource reads the file named by a flag.
type fileSource struct {
	name  string
	flag  string
	flags *Flags
}

func (s fileSource) Name() string { return s.name }

func (s fileSource) Read() ([]byte, string, bool, error) {
	value := s.flags.Lookup(s.flag).Value.String()
	if !s.flags.Given(s.flag) {
		return readFirst(filepath.Join(s.flags.dir, value))
	}
	paths := []string{value}
	if !filepath.IsAbs(value) {
		paths = append(paths, filepath.Join(s.flags.dir, value))
	}
	data, path, found, err := readFirst(paths...)
	if err == nil && !found {
		by := "--" + s.flag
		if s.flags.fromEnv[s.flag] {
			by = EnvName(s.flag)
		}
		err = fmt.Errorf("configuration of plugin %s: file %q named by %s does not exist (looked for %s)",
			s.name, value, by, strings.Join(paths, ", "))
	}
	return data, path, found, err
}

// readFirst reads the first of the files that exists.
func readFirst(paths ...string) (data []byte, path string, found bool, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Size() > maxFileSize {
			err = fmt.Errorf("%s: %d bytes are more than a configuration file may have (%d)", path, info.Size(), maxFileSize)
		}
		if err != nil {
			return nil, path, false, err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, path, false, err
		}
		return data, path, true, nil
	}
	return nil, "", false, nil
}

// Text returns a source that holds its YAML, for tests and for agents with a
// built-in configuration. Errors show the name instead of a file.
func Text(plugin, yaml string) PluginConfig { return text{plugin, yaml} }

type text struct{ name, yaml string }

func (t text) Name() string { return t.name }

func (t text) Read() ([]byte, string, bool, error) {
	return []byte(t.yaml), t.name + ".conf", true, nil
}

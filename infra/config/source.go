// Package config finds and reads the configuration of plugins: from the flag
// --<plugin>-config, the environment variable <PLUGIN>_CONFIG, or the file
// <config-dir>/<plugin>.conf. It is strict: an unknown key, a wrong type and a
// missing file that was named explicitly are errors. Values may refer to the
// environment and to other files, so that secrets need not be in them (Load). No
// other package reads the environment.
package config

// Source is the source of one plugin's configuration.
type Source interface {
	// Name is the name of the plugin, used in error messages.
	Name() string
	// Read returns the raw YAML and the path of its file. found is false,
	// without an error, if no file was named and the default file does not
	// exist.
	Read() (data []byte, path string, found bool, err error)
}

// Files returns the file of a source, for packages that follow it, and its path; none if the
// configuration is not in a file.
func Files(s Source) (files []string, path string, err error) {
	_, path, found, err := s.Read()
	if err != nil || !found || path == "" {
		return nil, path, err
	}
	return []string{path}, path, nil
}

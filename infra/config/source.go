// Package config finds and reads the configuration of plugins: by the flag
// --<plugin>-config, the environment variable <PLUGIN>_CONFIG, or the file
// <config-dir>/<plugin>.conf. It is strict: an unknown key, a wrong type and a
// named but missing file are errors. Values may refer to the environment and to
// other files, so that secrets need not be in them (Load). It is the only package
// that reads the environment.
package config

// Source is where the configuration of one plugin comes from.
type Source interface {
	// Name is the name of the plugin, used in error messages.
	Name() string
	// Read returns the raw YAML and the path it was read from. found is false,
	// without an error, if no file was named and the default one does not exist.
	Read() (data []byte, path string, found bool, err error)
}

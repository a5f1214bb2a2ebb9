// Package cryptodata is the plugin that decrypts secrets in configurations, so
// that a data store or a file contains "$crypto$..." instead of a password.
// Either a text in a value is encrypted, or the value as a whole, in JSON, in
// protobuf and in files alike:
//
//	{"name": "wg0", "wireguard": {"private_key": "$crypto$cGxlYXNl..."}}
//	$crypto$bm90IHRvZGF5...
//
// Objects in JSON may contain "encrypted": true, which is not part of the
// value. Values are encrypted with the public half of an RSA key (Encrypt, or
// agentctl kvdb encrypt) and decrypted, when they are decoded, with the private
// half, which only the agent has. An item that cannot be decrypted is rejected,
// with its key and the path of the field; the other items take effect.
package cryptodata

import (
	"errors"
	"fmt"
	"os"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// ErrNoKeys is returned if there is encrypted text and the agent has no keys.
var ErrNoKeys = errors.New("the value is encrypted, and there are no private-key-files in cryptodata.conf")

// Plugin decrypts values. Its methods may be called concurrently, from Init on.
type Plugin struct {
	Deps
	base Config // of UseConf
	keys Keys
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
}

// Config is the file cryptodata.conf.
type Config struct {
	PrivateKeyFiles []string `json:"private-key-files" desc:"private RSA keys in PEM; a value may be encrypted for any of them. Without keys, encrypted values are rejected"`
}

// Validate returns an error for invalid values.
func (c Config) Validate() error {
	for i, path := range c.PrivateKeyFiles {
		if path == "" {
			return fmt.Errorf("private-key-files[%d]: expected the path of a file", i)
		}
	}
	return nil
}

// ConfigSpec returns the defaults of cryptodata.conf.
func (p *Plugin) ConfigSpec() any { return p.base }

// Init reads the keys.
func (p *Plugin) Init() error {
	cfg, _, err := config.Load(p.Cfg, p.base)
	if err != nil {
		return err
	}
	p.keys = nil
	for i, path := range cfg.PrivateKeyFiles {
		field := fmt.Sprintf("private-key-files[%d]", i)
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		key, err := ParsePrivateKey(text)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", field, path, err)
		}
		p.keys = append(p.keys, key)
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
			p.Log.Warn("every user of this machine can read a private key; expected the mode 0600", "file", path, "mode", info.Mode().Perm().String())
		}
	}
	return nil
}

// DecryptData decrypts a text that begins with Prefix.
func (p *Plugin) DecryptData(text string) ([]byte, error) {
	if len(p.keys) == 0 {
		return nil, ErrNoKeys
	}
	return p.keys.Decrypt(text)
}

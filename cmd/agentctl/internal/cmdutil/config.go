package cmdutil

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/reload"
	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// ConfigFile is the configuration file of agentctl.
type ConfigFile struct {
	Connection
	CurrentContext string                `json:"current-context" desc:"name of the context that is used without --context; empty: none"`
	Contexts       map[string]Connection `json:"contexts" desc:"settings for an agent by name: the keys above, whose values win over those"`
}

// Connection is how an agent is reached.
type Connection struct {
	Host          string        `json:"host" desc:"address of the agent"`
	HTTPPort      int           `json:"http-port" desc:"port of the agent's HTTP server"`
	HTTPBasicAuth string        `json:"http-basic-auth" secret:"true" desc:"user:password for the HTTP server"`
	HTTPToken     string        `json:"http-token" secret:"true" desc:"token for the HTTP server, as login prints it"`
	Timeout       time.Duration `json:"timeout" desc:"request timeout"`
	InsecureTLS   bool          `json:"insecure-tls" desc:"use TLS without checking the certificate of the server"`
	HTTPTLS       *TLSConfig    `json:"http-tls" desc:"use TLS to talk to the HTTP server"`
	GRPCPort      int           `json:"grpc-port" desc:"port of the agent's gRPC server"`
	GRPCSocket    string        `json:"grpc-socket" desc:"unix socket of the agent's gRPC server, instead of host and port"`
	GRPCToken     string        `json:"grpc-token" secret:"true" desc:"token for the gRPC server"`
	GRPCBasicAuth string        `json:"grpc-basic-auth" secret:"true" desc:"user:password for the gRPC server"`
	GRPCTLS       *TLSConfig    `json:"grpc-tls" desc:"use TLS to talk to the gRPC server, unless over a unix socket"`

	ServiceLabel    string        `json:"service-label" desc:"label of the agent, for the keys of kvdb"`
	EtcdEndpoints   []string      `json:"etcd-endpoints" desc:"addresses of the store of kvdb, host:port"`
	Store           string        `json:"store" secret:"true" desc:"URL of the store of kvdb and targets, instead of etcd-endpoints: etcd://HOST:PORT,..., consul://[TOKEN@]HOST:PORT or redis://[:PASSWORD@]HOST:PORT[/DB]"`
	EtcdDialTimeout time.Duration `json:"etcd-dial-timeout" desc:"timeout of the connection of kvdb"`
	KVDBTLS         *TLSConfig    `json:"kvdb-tls" desc:"use TLS to talk to the store of kvdb"`
}

// setFlags sets the flags that have the names of keys of the file, unless they or their rivals
// are given. Rivals that are both in the file are left to validate.
func (c Connection) setFlags(flags *pflag.FlagSet) error {
	texts := map[string]string{}
	keys := reflect.ValueOf(c)
	for n := range keys.NumField() {
		name, value := keys.Type().Field(n).Tag.Get("json"), keys.Field(n)
		if flags.Lookup(name) == nil || flags.Changed(name) || slices.ContainsFunc(rivals(flags.Lookup(name)), flags.Changed) || value.IsZero() {
			continue
		}
		if list, ok := value.Interface().([]string); ok {
			texts[name] = strings.Join(list, ",")
		} else {
			texts[name] = fmt.Sprint(value.Interface())
		}
	}
	for name, text := range texts {
		if err := flags.Set(name, text); err != nil {
			return fmt.Errorf("configuration of agentctl: %s: %w", name, err)
		}
	}
	return nil
}

// ReadConfig reads the configuration file, and returns its path.
func (f *Factory) ReadConfig() (cfg ConfigFile, path string, err error) {
	path = f.Flags.Config
	if path == "" {
		dir := f.Flags.ConfigDir
		if dir == "" {
			home, set := f.Environ("HOME")
			if !set {
				return cfg, "", nil
			}
			dir = filepath.Join(home, ".agentctl")
		}
		path = filepath.Join(dir, "config.yaml")
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && f.Flags.Config == "" {
		return cfg, path, nil
	}
	if err != nil {
		return cfg, path, fmt.Errorf("configuration of agentctl: %w", err)
	}
	if err := config.Decode(data, path, &cfg); err != nil {
		return cfg, path, err
	}
	secret := cfg.secrets()
	for _, c := range cfg.Contexts {
		secret = secret || c.secrets()
	}
	if open := reload.WorldReadable(path); len(open) > 0 && secret {
		fmt.Fprintf(f.Err, "WARNING: every user of this machine can read %s, which has secrets (chmod o-r)\n", path)
	}
	return cfg, path, nil
}

// secrets reports whether the file contains secrets.
func (c Connection) secrets() bool {
	return c.HTTPBasicAuth+c.HTTPToken+c.GRPCToken+c.GRPCBasicAuth != ""
}

// InContext returns the settings of a context. The settings of the file are the defaults.
func (c ConfigFile) InContext(name string) (Connection, error) {
	if name == "" {
		return c.Connection, nil
	}
	own, ok := c.Contexts[name]
	if !ok {
		known := slices.Sorted(maps.Keys(c.Contexts))
		hint := "'agentctl context set " + name + " host=ADDRESS' adds it"
		if near := suggest.Nearest(name, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return Connection{}, exit.Usagef("no context %q; %s", name, hint)
	}
	merged := c.Connection
	into, from := reflect.ValueOf(&merged).Elem(), reflect.ValueOf(own)
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			into.Field(i).Set(from.Field(i))
		}
	}
	return merged, nil
}

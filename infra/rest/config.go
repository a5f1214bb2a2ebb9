package rest

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Config is the file http.conf.
type Config struct {
	Endpoint          string        `json:"endpoint" desc:"address and port to listen on; the flag --http-port replaces the port"`
	Disabled          bool          `json:"disabled" desc:"do not listen at all"`
	Disable           bool          `json:"disable" desc:"the same as disabled"`
	ReadTimeout       time.Duration `json:"read-timeout" desc:"how long a request may take to arrive, with its body; 0 means no bound"`
	ReadHeaderTimeout time.Duration `json:"read-header-timeout" desc:"how long the header of a request may take to arrive; 0 means no bound"`
	WriteTimeout      time.Duration `json:"write-timeout" desc:"how long an answer may take; 0 means no bound"`
	IdleTimeout       time.Duration `json:"idle-timeout" desc:"how long a connection may stay open without requests"`
	MaxHeaderBytes    int           `json:"max-header-bytes" desc:"bound on the header of a request, in bytes"`
	ServerCertFile    string        `json:"server-cert-file" desc:"certificate of the server in PEM; with it and the key, the server speaks HTTPS"`
	ServerKeyFile     string        `json:"server-key-file" desc:"private key of the server in PEM"`
	ClientCertFiles   []string      `json:"client-cert-files" desc:"certificates in PEM that sign those of clients; if set, clients must have one"`
	ClientBasicAuth   []string      `json:"client-basic-auth" secret:"true" desc:"who may use the server, each as user:password; empty means everyone"`
}

// DefaultConfig is what holds without a file: reachable from this machine only.
func DefaultConfig() Config {
	return Config{
		Endpoint:          "127.0.0.1:9191",
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}

// Validate says which keys have impossible values.
func (c Config) Validate() error {
	var errs []error
	if _, port, err := net.SplitHostPort(c.Endpoint); err != nil {
		errs = append(errs, fmt.Errorf("endpoint: %q: expected host:port", c.Endpoint))
	} else if n, err := strconv.ParseUint(port, 10, 16); err != nil || n > 65535 {
		errs = append(errs, fmt.Errorf("endpoint: port %q: expected a number from 0 to 65535", port))
	}
	if (c.ServerCertFile == "") != (c.ServerKeyFile == "") {
		errs = append(errs, errors.New("server-cert-file, server-key-file: expected both or none"))
	}
	if len(c.ClientCertFiles) > 0 && c.ServerCertFile == "" {
		errs = append(errs, errors.New("client-cert-files: expected server-cert-file and server-key-file too"))
	}
	for i, entry := range c.ClientBasicAuth {
		if user, _, ok := strings.Cut(entry, ":"); !ok || user == "" {
			errs = append(errs, fmt.Errorf("client-basic-auth[%d]: expected user:password", i))
		}
	}
	for key, d := range map[string]time.Duration{
		"read-timeout": c.ReadTimeout, "read-header-timeout": c.ReadHeaderTimeout,
		"write-timeout": c.WriteTimeout, "idle-timeout": c.IdleTimeout,
	} {
		if d < 0 {
			errs = append(errs, fmt.Errorf("%s: %v: expected no negative time", key, d))
		}
	}
	if c.MaxHeaderBytes < 0 {
		errs = append(errs, fmt.Errorf("max-header-bytes: %d: expected no negative number", c.MaxHeaderBytes))
	}
	return errors.Join(errs...)
}

package grpc

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config is the file grpc.conf.
type Config struct {
	Endpoint             string        `json:"endpoint" desc:"address and port to listen on, or the path of a unix socket if network is unix; the flag --grpc-port replaces the port"`
	Network              string        `json:"network" desc:"kind of the endpoint: tcp, tcp4, tcp6 or unix"`
	Socket               string        `json:"socket" desc:"path of a unix socket to listen on besides the endpoint, without TLS; the flag --grpc-socket replaces it"`
	Permission           os.FileMode   `json:"permission" desc:"mode of unix sockets: who may write may connect"`
	ForceSocketRemoval   bool          `json:"force-socket-removal" desc:"remove the unix socket even if another process listens on it; one that nobody listens on is always removed"`
	Disabled             bool          `json:"disabled" desc:"do not listen at all"`
	MaxMsgSize           int           `json:"max-msg-size" desc:"bound on a message in either direction, in bytes; 0 means the default"`
	MaxConcurrentStreams uint32        `json:"max-concurrent-streams" desc:"calls of one connection that may be under way at once; 0 means the default"`
	MaxConnections       int           `json:"max-connections" desc:"connections that are open at once on each address, further ones wait; 0 means no bound"`
	InsecureTransport    bool          `json:"insecure-transport" desc:"do not use TLS, even if there is a certificate"`
	CertFile             string        `json:"cert-file" desc:"certificate of the server in PEM; with it and the key, the server speaks TLS"`
	KeyFile              string        `json:"key-file" desc:"private key of the server in PEM"`
	CAFiles              []string      `json:"ca-files" desc:"certificates in PEM that sign those of clients; if set, clients must have one"`
	Tokens               []string      `json:"tokens" secret:"true" desc:"who may use the server: clients send one of these as authorization: Bearer TOKEN; empty, as tokens-file, client-basic-auth and users: everyone"`
	TokensFile           string        `json:"tokens-file" desc:"file with further tokens, one a line, after it the time when it ends if it does (TOKEN 2027-01-31T12:00:00Z); read again when it changes"`
	ClientBasicAuth      []string      `json:"client-basic-auth" secret:"true" desc:"who else may use the server for everything, each as user:password, or better with the bcrypt hash of the password, as htpasswd -nB prints it"`
	Users                []User        `json:"users" desc:"who may use the server for what"`
	PasswordHashCost     int           `json:"password-hash-cost" desc:"cost of the bcrypt hashes of passwords that are given in clear, 4 to 16"`
	ShowSecrets          bool          `json:"show-secrets" desc:"answers have values with their secrets, such as keys of tunnels, also if the client does not ask for them with the metadata show-secrets; for clients that read the configuration back and know nothing of this"`
	Reflection           bool          `json:"reflection" desc:"tell clients about services and messages, for grpcurl and the like"`
	ExtendedLogging      bool          `json:"extended-logging" desc:"log every call, at level debug"`
	PrometheusMetrics    bool          `json:"prometheus-metrics" desc:"count calls and how long they take, for /metrics"`
	KeepaliveTime        time.Duration `json:"keepalive-time" desc:"after how long without traffic a client is asked whether it is there"`
	KeepaliveTimeout     time.Duration `json:"keepalive-timeout" desc:"how long to wait for its answer before the connection is closed"`
	KeepaliveMinTime     time.Duration `json:"keepalive-min-time" desc:"how often a client may ask whether the server is there; one that asks more often is cut off"`
}

const (
	// defaultMaxMsgSize has room for about a million routes.
	defaultMaxMsgSize = 64 << 20
	defaultMaxStreams = 1000
)

// DefaultConfig is what holds without a file: reachable from this machine only.
func DefaultConfig() Config {
	return Config{
		Endpoint:             "127.0.0.1:9111",
		Network:              "tcp",
		Permission:           0o660,
		MaxMsgSize:           defaultMaxMsgSize,
		MaxConcurrentStreams: defaultMaxStreams,
		MaxConnections:       4096,
		PasswordHashCost:     10,
		Reflection:           true,
		PrometheusMetrics:    true,
		KeepaliveTime:        time.Minute,
		KeepaliveTimeout:     20 * time.Second,
		KeepaliveMinTime:     5 * time.Second,
	}
}

// networks are those that gRPC can be carried by.
var networks = []string{"tcp", "tcp4", "tcp6", "unix"}

// Validate says which keys have impossible values.
func (c Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.Contains(networks, c.Network) {
		fail("network: %q: expected one of %s", c.Network, strings.Join(networks, ", "))
	}
	if err := c.checkEndpoint(); err != nil {
		errs = append(errs, err)
	}
	if c.Permission&^os.ModePerm != 0 {
		fail("permission: %o: expected at most 0777", c.Permission)
	}
	if c.MaxMsgSize < 0 {
		fail("max-msg-size: %d: expected no negative number", c.MaxMsgSize)
	}
	if c.MaxConnections < 0 {
		fail("max-connections: %d: expected no negative number", c.MaxConnections)
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		fail("cert-file, key-file: expected both or none")
	}
	if len(c.CAFiles) > 0 && c.CertFile == "" {
		fail("ca-files: expected cert-file and key-file too")
	}
	for i, t := range c.Tokens {
		if err := checkToken(fmt.Sprintf("tokens[%d]", i), t); err != nil {
			errs = append(errs, err)
		}
	}
	if err := c.lists().Check(); err != nil {
		errs = append(errs, err)
	}
	for _, d := range []struct {
		key   string
		value time.Duration
		least time.Duration
	}{
		// gRPC itself does not go below a second.
		{"keepalive-time", c.KeepaliveTime, time.Second},
		{"keepalive-timeout", c.KeepaliveTimeout, time.Millisecond},
		{"keepalive-min-time", c.KeepaliveMinTime, 0},
	} {
		if d.value < d.least {
			fail("%s: %v: expected at least %v", d.key, d.value, d.least)
		}
	}
	return errors.Join(errs...)
}

func (c Config) checkEndpoint() error {
	if c.Network == "unix" {
		if c.Endpoint == "" {
			return errors.New("endpoint: expected the path of a socket, as network is unix")
		}
		if c.Socket != "" && filepath.Clean(c.Socket) == filepath.Clean(c.Endpoint) {
			return fmt.Errorf("socket: %s is the endpoint already", c.Socket)
		}
		return nil
	}
	if _, port, err := net.SplitHostPort(c.Endpoint); err != nil {
		return fmt.Errorf("endpoint: %q: expected host:port", c.Endpoint)
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("endpoint: port %q: expected a number from 0 to 65535", port)
	}
	return nil
}

// protected tells whether something keeps strangers out.
func (c Config) protected() bool {
	return len(c.Tokens)+len(c.ClientBasicAuth)+len(c.Users) > 0 || c.TokensFile != "" || len(c.CAFiles) > 0 && !c.InsecureTransport
}

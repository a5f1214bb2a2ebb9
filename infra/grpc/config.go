package grpc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/listen"
)

// Config is the file grpc.conf.
type Config struct {
	Endpoint             string        `json:"endpoint" desc:"address and port to listen on, or the path of a unix socket if network is unix; the flag --grpc-port replaces the port"`
	Network              string        `json:"network" desc:"kind of the endpoint: tcp, tcp4, tcp6 or unix"`
	Socket               string        `json:"socket" desc:"path of a unix socket to listen on besides the endpoint, without TLS; the flag --grpc-socket replaces it"`
	Permission           os.FileMode   `json:"permission" desc:"mode of unix sockets: who may write may connect"`
	ForceSocketRemoval   bool          `json:"force-socket-removal" desc:"remove the unix socket even if another process listens on it; a stale socket is always removed"`
	Disabled             bool          `json:"disabled" desc:"do not listen at all"`
	MaxMsgSize           int           `json:"max-msg-size" desc:"maximum size of a message in either direction, in bytes; 0 means the default"`
	MaxConcurrentStreams uint32        `json:"max-concurrent-streams" desc:"maximum number of concurrent calls of one connection; 0 means the default"`
	MaxConnections       int           `json:"max-connections" desc:"maximum number of open connections on each address; further ones wait. Never more than the limit of open files (RLIMIT_NOFILE) allows besides the work of the agent; 0: only that limit"`
	InsecureTransport    bool          `json:"insecure-transport" desc:"do not use TLS, even if there is a certificate"`
	CertFile             string        `json:"cert-file" desc:"certificate of the server in PEM; with it and the key, the server speaks TLS"`
	KeyFile              string        `json:"key-file" desc:"private key of the server in PEM"`
	CAFiles              []string      `json:"ca-files" desc:"CA certificates in PEM that sign the certificates of clients; if set, clients must present a certificate"`
	Tokens               []string      `json:"tokens" secret:"true" desc:"tokens that give access to the server; clients send one of them as authorization: Bearer TOKEN. Every client has access if tokens, tokens-file, client-basic-auth and users are empty"`
	TokensFile           string        `json:"tokens-file" desc:"file with further tokens, one per line, optionally followed by the time it expires (TOKEN 2027-01-31T12:00:00Z); reloaded when it changes"`
	ClientBasicAuth      []string      `json:"client-basic-auth" secret:"true" desc:"users with all permissions, each as user:password, or better user:HASH with the bcrypt hash of the password, as printed by htpasswd -nB"`
	Users                []User        `json:"users" desc:"users and their permissions"`
	PasswordHashCost     int           `json:"password-hash-cost" desc:"cost of the bcrypt hashes of passwords in clear text, 4 to 16"`
	ShowSecrets          bool          `json:"show-secrets" desc:"answers have values with their secrets, such as keys of tunnels, also if the client does not ask for them with the metadata show-secrets; for clients that read the configuration back and know nothing of this"`
	Reflection           bool          `json:"reflection" desc:"serve gRPC reflection, for grpcurl and similar clients"`
	ExtendedLogging      bool          `json:"extended-logging" desc:"log every call, at level debug"`
	PrometheusMetrics    bool          `json:"prometheus-metrics" desc:"export counts and durations of calls at /metrics"`
	SendTimeout          time.Duration `json:"send-timeout" desc:"how long a stream waits for a client that does not read, before it ends with RESOURCE_EXHAUSTED; 0 disables the timeout"`
	KeepaliveTime        time.Duration `json:"keepalive-time" desc:"time without traffic after which the server pings a client"`
	KeepaliveTimeout     time.Duration `json:"keepalive-timeout" desc:"how long the server waits for the reply to a ping before it closes the connection"`
	KeepaliveMinTime     time.Duration `json:"keepalive-min-time" desc:"minimum interval of pings from a client; the server disconnects clients that ping more often"`
}

const (
	// defaultMaxMsgSize is enough for about a million routes.
	defaultMaxMsgSize = 64 << 20
	defaultMaxStreams = 1000
)

// DefaultConfig returns the configuration without a file: a server that is
// reachable from this machine only.
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
		SendTimeout:          time.Minute,
		KeepaliveTime:        time.Minute,
		KeepaliveTimeout:     20 * time.Second,
		KeepaliveMinTime:     5 * time.Second,
	}
}

// networks are the networks that gRPC supports.
var networks = []string{"tcp", "tcp4", "tcp6", "unix"}

// Validate returns an error for invalid values.
func (c Config) Validate() error {
	var check config.Checks
	check.Expect(slices.Contains(networks, c.Network), "network: %q: expected one of %s", c.Network, strings.Join(networks, ", "))
	check.Add(c.checkEndpoint())
	check.Expect(c.Permission&^os.ModePerm == 0, "permission: %o: expected at most 0777", c.Permission)
	check.Expect(c.MaxMsgSize >= 0, "max-msg-size: %d: expected no negative number", c.MaxMsgSize)
	check.Expect(c.MaxConnections >= 0, "max-connections: %d: expected no negative number", c.MaxConnections)
	check.Expect((c.CertFile == "") == (c.KeyFile == ""), "cert-file, key-file: expected both or none")
	check.Expect(len(c.CAFiles) == 0 || c.CertFile != "", "ca-files: expected cert-file and key-file too")
	for i, t := range c.Tokens {
		check.Add(checkToken(fmt.Sprintf("tokens[%d]", i), t))
	}
	check.Add(c.lists().Check())
	check.Expect(c.SendTimeout >= 0, "send-timeout: %v: expected no negative duration", c.SendTimeout)
	// gRPC does not support less than a second.
	check.Expect(c.KeepaliveTime >= time.Second, "keepalive-time: %v: expected at least 1s", c.KeepaliveTime)
	check.Expect(c.KeepaliveTimeout >= time.Millisecond, "keepalive-timeout: %v: expected at least 1ms", c.KeepaliveTimeout)
	check.Expect(c.KeepaliveMinTime >= 0, "keepalive-min-time: %v: expected at least 0s", c.KeepaliveMinTime)
	return check.Err()
}

func (c Config) checkEndpoint() error {
	switch {
	case c.Network != "unix":
		return listen.CheckEndpoint(c.Endpoint)
	case c.Endpoint == "":
		return errors.New("endpoint: expected the path of a socket, as network is unix")
	case c.Socket != "" && filepath.Clean(c.Socket) == filepath.Clean(c.Endpoint):
		return fmt.Errorf("socket: %s is the endpoint already", c.Socket)
	}
	return nil
}

// protected reports whether clients need credentials.
func (c Config) protected() bool {
	return len(c.Tokens)+len(c.ClientBasicAuth)+len(c.Users) > 0 || c.TokensFile != "" || len(c.CAFiles) > 0 && !c.InsecureTransport
}

package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
)

// globals are the flags of all commands.
type globals struct {
	host, basicAuth   string
	port              int
	timeout           time.Duration
	insecureTLS       bool
	debug             bool
	configDir, config string
	label             string
	etcdEndpoints     string
	grpcPort          int
	grpcSocket        string
	grpcToken         string
}

// fileConfig is the configuration file of agentctl.
type fileConfig struct {
	Host          string        `json:"host" desc:"address of the agent"`
	HTTPPort      int           `json:"http-port" desc:"port of the agent's HTTP server"`
	HTTPBasicAuth string        `json:"http-basic-auth" secret:"true" desc:"user:password for the HTTP server"`
	Timeout       time.Duration `json:"timeout" desc:"bound on a request, with its answer"`
	InsecureTLS   bool          `json:"insecure-tls" desc:"use TLS without checking the certificate of the server"`
	HTTPTLS       *tlsConfig    `json:"http-tls" desc:"use TLS to talk to the HTTP server"`
	GRPCPort      int           `json:"grpc-port" desc:"port of the agent's gRPC server"`
	GRPCSocket    string        `json:"grpc-socket" desc:"unix socket of the agent's gRPC server, instead of host and port"`
	GRPCToken     string        `json:"grpc-token" secret:"true" desc:"token for the gRPC server"`
	GRPCTLS       *tlsConfig    `json:"grpc-tls" desc:"use TLS to talk to the gRPC server, unless over a unix socket"`

	ServiceLabel    string        `json:"service-label" desc:"label of the agent, for the keys of kvdb"`
	EtcdEndpoints   []string      `json:"etcd-endpoints" desc:"addresses of the store of kvdb, host:port"`
	EtcdDialTimeout time.Duration `json:"etcd-dial-timeout" desc:"bound on the connection of kvdb"`
	KVDBTLS         *tlsConfig    `json:"kvdb-tls" desc:"use TLS to talk to the store of kvdb"`
}

type tlsConfig struct {
	Disabled   bool   `json:"disabled" desc:"do not use TLS"`
	CertFile   string `json:"cert-file" desc:"certificate of this client, in PEM"`
	KeyFile    string `json:"key-file" desc:"private key of this client, in PEM"`
	CAFile     string `json:"ca-file" desc:"certificates that sign that of the server, in PEM; empty: those of the system"`
	SkipVerify bool   `json:"skip-verify" desc:"do not check the certificate of the server"`
}

const defaultTimeout = 2 * time.Minute

// envOf are the variables that stand for flags.
var envOf = map[string]string{
	"host":            "AGENT_HOST",
	"http-port":       "HTTP_PORT",
	"http-basic-auth": "AGENTCTL_HTTP_BASIC_AUTH",
	"grpc-port":       "GRPC_PORT",
	"grpc-token":      "AGENTCTL_GRPC_TOKEN",
	"config-dir":      "CONFIG_DIR",
	"service-label":   "MICROSERVICE_LABEL",
	"etcd-endpoints":  "ETCD_ENDPOINTS",
}

func (g *globals) define(fs *pflag.FlagSet) {
	fs.StringVarP(&g.host, "host", "H", client.DefaultHost, "`address` of the agent, or path of its unix socket [AGENT_HOST]")
	fs.IntVar(&g.port, "http-port", client.DefaultPort, "`port` of the agent's HTTP server [HTTP_PORT]")
	fs.StringVar(&g.basicAuth, "http-basic-auth", "", "`user:password` for the HTTP server [AGENTCTL_HTTP_BASIC_AUTH]")
	fs.DurationVar(&g.timeout, "timeout", defaultTimeout, "bound on a request, with its answer; 0: none")
	fs.BoolVar(&g.insecureTLS, "insecure-tls", false, "use TLS without checking the certificate of the server")
	fs.BoolVarP(&g.debug, "debug", "D", false, "show the requests that are made")
	fs.StringVar(&g.configDir, "config-dir", "", "`directory` with the file config.yaml (default ~/.agentctl) [CONFIG_DIR]")
	fs.StringVar(&g.label, "service-label", servicelabel.DefaultLabel, "`label` of the agent, for the keys of kvdb [MICROSERVICE_LABEL]")
	fs.StringVarP(&g.etcdEndpoints, "etcd-endpoints", "e", "127.0.0.1:2379", "`addresses` of the store of kvdb, with commas [ETCD_ENDPOINTS]")
	fs.IntVar(&g.grpcPort, "grpc-port", defaultGRPCPort, "`port` of the agent's gRPC server [GRPC_PORT]")
	fs.StringVar(&g.grpcSocket, "grpc-socket", "", "`path` of a unix socket of the agent's gRPC server, instead of host and port")
	fs.StringVar(&g.grpcToken, "grpc-token", "", "`token` for the gRPC server [AGENTCTL_GRPC_TOKEN]")
	fs.StringP("log-level", "l", "", "accepted for the sake of existing scripts")
	_ = fs.MarkHidden("log-level") // fails only for unknown flags
	fs.StringVar(&g.config, "config", "", "configuration `file`, instead of the one in the directory")
}

// connect settles the global flags and makes the client. A flag wins over its
// variable, which wins over the file.
func (a *app) connect(cmd *cobra.Command, _ []string) error {
	flags := cmd.Flags()
	given := func(name string) bool { return flags.Changed(name) }
	for name, variable := range envOf {
		value, set := a.environ(variable)
		if given(name) || !set || value == "" {
			continue
		}
		if err := flags.Set(name, value); err != nil {
			return usage("environment variable %s: %w", variable, err)
		}
	}
	file, err := a.readConfig()
	if err != nil {
		return err
	}
	g := &a.global
	if !given("host") && file.Host != "" {
		g.host = file.Host
	}
	if !given("http-port") && file.HTTPPort != 0 {
		g.port = file.HTTPPort
	}
	if !given("http-basic-auth") && file.HTTPBasicAuth != "" {
		g.basicAuth = file.HTTPBasicAuth
	}
	if !given("timeout") && file.Timeout != 0 {
		g.timeout = file.Timeout
	}
	if !given("insecure-tls") {
		g.insecureTLS = g.insecureTLS || file.InsecureTLS
	}
	if !given("service-label") && file.ServiceLabel != "" {
		g.label = file.ServiceLabel
	}
	if !given("etcd-endpoints") && len(file.EtcdEndpoints) > 0 {
		g.etcdEndpoints = strings.Join(file.EtcdEndpoints, ",")
	}
	g.grpcFrom(file, given)
	a.file = file
	if err := g.validate(); err != nil {
		return err
	}
	opts := client.Options{Host: g.host, Port: g.port, BasicAuth: g.basicAuth, Timeout: g.timeout}
	if opts.TLS, err = g.tls(file.HTTPTLS, "http-tls"); err != nil {
		return err
	}
	if g.debug {
		opts.Trace = func(method, url, status string, took time.Duration) {
			fmt.Fprintf(a.Err, "%s %s: %s (%v)\n", method, url, status, took.Round(time.Microsecond))
		}
	}
	a.client = client.New(opts)
	return nil
}

func (g *globals) validate() error {
	switch {
	case g.host == "":
		return usage("--host: expected an address")
	case g.port < 1 || g.port > 65535:
		return usage("--http-port: %d: expected 1 to 65535", g.port)
	case g.grpcPort < 1 || g.grpcPort > 65535:
		return usage("--grpc-port: %d: expected 1 to 65535", g.grpcPort)
	case g.timeout < 0:
		return usage("--timeout: %v: expected 0 or more", g.timeout)
	}
	return nil
}

func (a *app) readConfig() (cfg fileConfig, err error) {
	path := a.global.config
	if path == "" {
		dir := a.global.configDir
		if dir == "" {
			home, set := a.environ("HOME")
			if !set {
				return cfg, nil
			}
			dir = filepath.Join(home, ".agentctl")
		}
		path = filepath.Join(dir, "config.yaml")
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && a.global.config == "" {
		return cfg, nil
	}
	if err != nil {
		return cfg, fmt.Errorf("configuration of agentctl: %w", err)
	}
	return cfg, config.Decode(data, path, &cfg)
}

// tls returns nil if TLS shall not be used; key is that of the configuration.
func (g *globals) tls(c *tlsConfig, key string) (*tls.Config, error) {
	if c == nil || c.Disabled {
		if !g.insecureTLS {
			return nil, nil
		}
		c = &tlsConfig{}
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: g.insecureTLS || c.SkipVerify}
	if c.CertFile != "" || c.KeyFile != "" {
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("%[1]s.cert-file, %[1]s.key-file: %[2]w", key, err)
		}
		t.Certificates = []tls.Certificate{cert}
	}
	if c.CAFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("%s.ca-file: %w", key, err)
	}
	t.RootCAs = x509.NewCertPool()
	if !t.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s.ca-file: %s: expected certificates in PEM", key, c.CAFile)
	}
	return t, nil
}

// seqNum reads the number of a transaction.
func seqNum(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, usage("%q: expected the sequence number of a transaction", text)
	}
	return n, nil
}

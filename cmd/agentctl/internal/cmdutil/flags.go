package cmdutil

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/infra/announce/announced"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
)

// Flags are the flags of all commands.
type Flags struct {
	Host, HTTPBasicAuth string
	HTTPToken           string
	HTTPPort            int
	Timeout             time.Duration
	InsecureTLS         bool
	ShowSecrets         bool
	Debug               bool
	ConfigDir, Config   string
	Context             string
	Targets             []string
	TargetsGiven        bool // as a flag
	Label               string
	EtcdEndpoints       string
	Store               string // URL; empty: etcd at etcdEndpoints
	GRPCPort            int
	GRPCPortGiven       bool // by a flag, a variable or a context
	GRPCSocket          string
	GRPCToken           string
	GRPCBasicAuth       string
	TLS                 TLSFlags
}

// DefaultTimeout is the default of --timeout.
const DefaultTimeout = 2 * time.Minute

// Define adds the flags of all commands.
func (g *Flags) Define(fs *pflag.FlagSet) {
	fs.StringVarP(&g.Host, "host", "H", client.DefaultHost, "`address` of the agent, or a URL with its HTTP port (https://edge-1:9191), or path of its unix socket")
	describe(fs, "host", "AGENT_HOST")
	fs.IntVar(&g.HTTPPort, "http-port", client.DefaultPort, "`port` of the agent's HTTP server")
	describe(fs, "http-port", "HTTP_PORT")
	fs.StringVar(&g.HTTPBasicAuth, "http-basic-auth", "", "`user:password` for the HTTP server")
	describe(fs, "http-basic-auth", "AGENTCTL_HTTP_BASIC_AUTH", "http-token")
	fs.StringVar(&g.HTTPToken, "http-token", "", "`token` for the HTTP server, see login")
	describe(fs, "http-token", "AGENTCTL_HTTP_TOKEN", "http-basic-auth")
	fs.DurationVar(&g.Timeout, "timeout", DefaultTimeout, "request timeout (0 disables it)")
	fs.BoolVar(&g.InsecureTLS, "insecure-tls", false, "use TLS without checking the certificate of the server")
	fs.BoolVar(&g.ShowSecrets, "show-secrets", false, "show the secrets in values, such as keys of tunnels")
	fs.BoolVarP(&g.Debug, "debug", "D", false, "show the requests that are made")
	fs.StringVar(&g.ConfigDir, "config-dir", "", "`directory` with the file config.yaml (default ~/.agentctl)")
	describe(fs, "config-dir", "CONFIG_DIR")
	fs.StringVar(&g.Label, "service-label", servicelabel.DefaultLabel, "`label` of the agent, for the keys of kvdb")
	describe(fs, "service-label", "MICROSERVICE_LABEL")
	fs.StringVarP(&g.EtcdEndpoints, "etcd-endpoints", "e", "127.0.0.1:2379", "`addresses` of the store of kvdb, with commas")
	describe(fs, "etcd-endpoints", "ETCD_ENDPOINTS")
	fs.StringVar(&g.Store, "store", "", "`URL` of the store of kvdb and targets: etcd://HOST:PORT,..., consul://[TOKEN@]HOST:PORT or redis://[:PASSWORD@]HOST:PORT[/DB]")
	describe(fs, "store", "AGENTCTL_STORE", "etcd-endpoints")
	exclude(fs, "store")
	fs.IntVar(&g.GRPCPort, "grpc-port", defaultGRPCPort, "`port` of the agent's gRPC server; required with another HTTP port than the default")
	describe(fs, "grpc-port", "GRPC_PORT")
	fs.StringVar(&g.GRPCSocket, "grpc-socket", "", "`path` of a unix socket of the agent's gRPC server, instead of host and port")
	describe(fs, "grpc-socket", "GRPC_SOCKET", "grpc-port", "host") // it is a socket of this machine
	fs.StringVar(&g.GRPCToken, "grpc-token", "", "`token` for the gRPC server")
	describe(fs, "grpc-token", "AGENTCTL_GRPC_TOKEN", "grpc-basic-auth")
	fs.StringVar(&g.GRPCBasicAuth, "grpc-basic-auth", "", "`user:password` for the gRPC server")
	describe(fs, "grpc-basic-auth", "AGENTCTL_GRPC_BASIC_AUTH", "grpc-token")
	g.TLS.define(fs)
	fs.StringP("log-level", "l", "", "accepted for compatibility and ignored")
	_ = fs.MarkHidden("log-level") // fails only for unknown flags
	fs.StringVar(&g.Config, "config", "", "configuration `file`, instead of the one in the directory")
	fs.StringVar(&g.Context, "context", "", "`name` of a context of the configuration file, see context")
	describe(fs, "context", "AGENTCTL_CONTEXT")
	fs.StringSliceVar(&g.Targets, "target", nil, "`labels` of the agents to run the command on, or patterns ('*' is all); their addresses are in the store, see targets")
	describe(fs, "target", "AGENTCTL_TARGET", "host", "http-port", "grpc-port", "grpc-socket") // which say where the agent is, too
	exclude(fs, "target")
}

// The annotations of a flag.
const (
	variableOf = "variable"  // the environment variable that sets the flag
	rivalsOf   = "rivals"    // the flags that exclude it: each of them overrides its variable
	exclusive  = "exclusive" // no rival may be given with it on the command line
)

// describe adds facts to a flag: the environment variable that sets it, and the flags that
// exclude it. Each of these overrides its variable.
func describe(fs *pflag.FlagSet, name, variable string, rivals ...string) {
	flag := fs.Lookup(name)
	flag.Usage += " [" + variable + "]"
	flag.Annotations = map[string][]string{variableOf: {variable}, rivalsOf: rivals}
}

// exclude makes it an error to give a flag with one of its rivals.
func exclude(fs *pflag.FlagSet, name string) { fs.Lookup(name).Annotations[exclusive] = nil }

func rivals(flag *pflag.Flag) []string { return flag.Annotations[rivalsOf] }

// checkGiven returns an error for flags on the command line that exclude each other.
func checkGiven(flags *pflag.FlagSet) (err error) {
	given := func(name string) bool { return flags.Changed(name) }
	flags.Visit(func(flag *pflag.Flag) {
		if _, strict := flag.Annotations[exclusive]; !strict {
			return
		}
		if i := slices.IndexFunc(rivals(flag), given); i >= 0 {
			err = exit.Usagef("--%s, --%s: expected one of them", flag.Name, rivals(flag)[i])
		}
	})
	return err
}

// fromEnvironment sets the flags that only variables give. A variable is overridden by a flag that
// excludes it, or by the variable of such a flag.
func fromEnvironment(flags *pflag.FlagSet, environ config.Environ) (err error) {
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	flags.VisitAll(func(flag *pflag.Flag) {
		variable := strings.Join(flag.Annotations[variableOf], "")
		if variable == "" || err != nil {
			return
		}
		value, set := environ(variable)
		overridden := func(rival string) bool {
			return given[rival] || flags.Changed(rival) && slices.Contains(rivals(flags.Lookup(rival)), flag.Name)
		}
		if given[flag.Name] || slices.ContainsFunc(rivals(flag), overridden) || !set || value == "" {
			return
		}
		if serr := flags.Set(flag.Name, value); serr != nil {
			err = exit.Usagef("environment variable %s: %w", variable, serr)
		}
	})
	return err
}

// Bounded returns a context that ends after --timeout.
func (g *Flags) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if g.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, g.Timeout)
}

// answerTime is the part of --timeout that is reserved for the response.
const answerTime = time.Second

// WaitTime is how long the agent may wait before it responds.
func (g *Flags) WaitTime() time.Duration {
	if g.Timeout <= 0 {
		return 365 * 24 * time.Hour
	}
	return max(g.Timeout-answerTime, g.Timeout/2)
}

// use sets the flags to what an agent publishes about itself.
func (g *Flags) use(agent *announced.Agent) (err error) {
	g.Label, g.GRPCSocket = agent.Label, ""
	host, port, err := net.SplitHostPort(agent.Http.Address)
	if err == nil {
		g.Host = host
		g.HTTPPort, err = strconv.Atoi(port)
	}
	if err != nil {
		return fmt.Errorf("agent %s: http.address: %q: expected host:port", agent.Label, agent.Http.Address)
	}
	return nil
}

// splitURL takes the port of --host ("edge-1:9191"), and the scheme of a URL ("https://edge-1:9191").
func (g *Flags) splitURL() error {
	scheme, _, ok := strings.Cut(g.Host, "://")
	if !ok {
		return g.splitPort(g.Host)
	}
	if scheme == "unix" {
		return nil
	}
	u, err := url.Parse(g.Host)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return exit.Usagef("--host: %q: expected an address, or a URL such as https://edge-1:9191", g.Host)
	}
	switch scheme {
	case "https":
		g.TLS.on = true
	case "http":
	default:
		return exit.Usagef("--host: %q: expected http:// or https://", g.Host)
	}
	if g.Host = u.Hostname(); u.Port() == "" {
		return nil
	}
	return g.splitPort(u.Host)
}

// splitPort takes host and port from an address that has a port.
func (g *Flags) splitPort(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "unix" {
		return nil // without a port, or a socket
	}
	if g.HTTPPort, err = strconv.Atoi(port); err != nil {
		return exit.Usagef("--host: %q: expected a number as port", address)
	}
	g.Host = host
	return nil
}

func (g *Flags) validate() error {
	switch {
	case g.Host == "":
		return exit.Usagef("--host: expected an address")
	case g.HTTPPort < 1 || g.HTTPPort > 65535:
		return exit.Usagef("--http-port: %d: expected 1 to 65535", g.HTTPPort)
	case g.GRPCPort < 1 || g.GRPCPort > 65535:
		return exit.Usagef("--grpc-port: %d: expected 1 to 65535", g.GRPCPort)
	case g.HTTPBasicAuth != "" && g.HTTPToken != "":
		return exit.Usagef("--http-basic-auth, --http-token: expected one of them")
	case g.HTTPBasicAuth != "" && !strings.Contains(g.HTTPBasicAuth, ":"):
		return exit.Usagef("--http-basic-auth: expected user:password")
	case g.GRPCBasicAuth != "" && g.GRPCToken != "":
		return exit.Usagef("--grpc-basic-auth, --grpc-token: expected one of them")
	case g.GRPCBasicAuth != "" && !strings.Contains(g.GRPCBasicAuth, ":"):
		return exit.Usagef("--grpc-basic-auth: expected user:password")
	case (g.TLS.cert == "") != (g.TLS.key == ""):
		return exit.Usagef("--tls-cert-file, --tls-key-file: expected both or none")
	case g.Timeout < 0:
		return exit.Usagef("--timeout: %v: expected 0 or more", g.Timeout)
	}
	return nil
}

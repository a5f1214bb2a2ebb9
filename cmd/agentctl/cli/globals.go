package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/infra/announce/announced"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/reload"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
)

// globals are the flags of all commands.
type globals struct {
	host, basicAuth   string
	httpToken         string
	port              int
	timeout           time.Duration
	insecureTLS       bool
	showSecrets       bool
	debug             bool
	configDir, config string
	context           string
	targets           []string
	targetsGiven      bool // as a flag
	label             string
	etcdEndpoints     string
	store             string // URL; empty: etcd at etcdEndpoints
	grpcPort          int
	grpcSocket        string
	grpcToken         string
	grpcBasicAuth     string
	tls               tlsFlags
}

// fileConfig is the configuration file of agentctl.
type fileConfig struct {
	connection
	CurrentContext string                `json:"current-context" desc:"name of the context that is used without --context; empty: none"`
	Contexts       map[string]connection `json:"contexts" desc:"settings for an agent by name: the keys above, whose values win over those"`
}

// connection is how an agent is reached.
type connection struct {
	Host          string        `json:"host" desc:"address of the agent"`
	HTTPPort      int           `json:"http-port" desc:"port of the agent's HTTP server"`
	HTTPBasicAuth string        `json:"http-basic-auth" secret:"true" desc:"user:password for the HTTP server"`
	HTTPToken     string        `json:"http-token" secret:"true" desc:"token for the HTTP server, as login prints it"`
	Timeout       time.Duration `json:"timeout" desc:"request timeout"`
	InsecureTLS   bool          `json:"insecure-tls" desc:"use TLS without checking the certificate of the server"`
	HTTPTLS       *tlsConfig    `json:"http-tls" desc:"use TLS to talk to the HTTP server"`
	GRPCPort      int           `json:"grpc-port" desc:"port of the agent's gRPC server"`
	GRPCSocket    string        `json:"grpc-socket" desc:"unix socket of the agent's gRPC server, instead of host and port"`
	GRPCToken     string        `json:"grpc-token" secret:"true" desc:"token for the gRPC server"`
	GRPCBasicAuth string        `json:"grpc-basic-auth" secret:"true" desc:"user:password for the gRPC server"`
	GRPCTLS       *tlsConfig    `json:"grpc-tls" desc:"use TLS to talk to the gRPC server, unless over a unix socket"`

	ServiceLabel    string        `json:"service-label" desc:"label of the agent, for the keys of kvdb"`
	EtcdEndpoints   []string      `json:"etcd-endpoints" desc:"addresses of the store of kvdb, host:port"`
	Store           string        `json:"store" secret:"true" desc:"URL of the store of kvdb and targets, instead of etcd-endpoints: etcd://HOST:PORT,..., consul://[TOKEN@]HOST:PORT or redis://[:PASSWORD@]HOST:PORT[/DB]"`
	EtcdDialTimeout time.Duration `json:"etcd-dial-timeout" desc:"timeout of the connection of kvdb"`
	KVDBTLS         *tlsConfig    `json:"kvdb-tls" desc:"use TLS to talk to the store of kvdb"`
}

const defaultTimeout = 2 * time.Minute

// envOf are the environment variables of flags.
var envOf = map[string]string{
	"host":            "AGENT_HOST",
	"http-port":       "HTTP_PORT",
	"http-basic-auth": "AGENTCTL_HTTP_BASIC_AUTH",
	"http-token":      "AGENTCTL_HTTP_TOKEN",
	"grpc-port":       "GRPC_PORT",
	"grpc-socket":     "GRPC_SOCKET",
	"grpc-basic-auth": "AGENTCTL_GRPC_BASIC_AUTH",
	"tls":             "AGENTCTL_TLS",
	"tls-ca-file":     "AGENTCTL_TLS_CA_FILE",
	"tls-cert-file":   "AGENTCTL_TLS_CERT_FILE",
	"tls-key-file":    "AGENTCTL_TLS_KEY_FILE",
	"grpc-token":      "AGENTCTL_GRPC_TOKEN",
	"config-dir":      "CONFIG_DIR",
	"context":         "AGENTCTL_CONTEXT",
	"target":          "AGENTCTL_TARGET",
	"service-label":   "MICROSERVICE_LABEL",
	"etcd-endpoints":  "ETCD_ENDPOINTS",
	"store":           "AGENTCTL_STORE",
}

// ownAddress are the flags that say where the agent is, as --target does.
var ownAddress = []string{"host", "http-port", "grpc-port", "grpc-socket"}

// rivals exclude a flag: each of them overrides its variable. The socket is one of this
// machine, so a host or port that is given overrides it.
var rivals = map[string][]string{
	"http-basic-auth": {"http-token"}, "http-token": {"http-basic-auth"},
	"grpc-basic-auth": {"grpc-token"}, "grpc-token": {"grpc-basic-auth"},
	"grpc-socket": {"grpc-port", "host"}, "target": ownAddress,
	"store": {"etcd-endpoints"},
}

func (g *globals) define(fs *pflag.FlagSet) {
	fs.StringVarP(&g.host, "host", "H", client.DefaultHost, "`address` of the agent, or path of its unix socket")
	fs.IntVar(&g.port, "http-port", client.DefaultPort, "`port` of the agent's HTTP server")
	fs.StringVar(&g.basicAuth, "http-basic-auth", "", "`user:password` for the HTTP server")
	fs.StringVar(&g.httpToken, "http-token", "", "`token` for the HTTP server, see login")
	fs.DurationVar(&g.timeout, "timeout", defaultTimeout, "request timeout (0 disables it)")
	fs.BoolVar(&g.insecureTLS, "insecure-tls", false, "use TLS without checking the certificate of the server")
	fs.BoolVar(&g.showSecrets, "show-secrets", false, "show the secrets in values, such as keys of tunnels")
	fs.BoolVarP(&g.debug, "debug", "D", false, "show the requests that are made")
	fs.StringVar(&g.configDir, "config-dir", "", "`directory` with the file config.yaml (default ~/.agentctl)")
	fs.StringVar(&g.label, "service-label", servicelabel.DefaultLabel, "`label` of the agent, for the keys of kvdb")
	fs.StringVarP(&g.etcdEndpoints, "etcd-endpoints", "e", "127.0.0.1:2379", "`addresses` of the store of kvdb, with commas")
	fs.StringVar(&g.store, "store", "", "`URL` of the store of kvdb and targets: etcd://HOST:PORT,..., consul://[TOKEN@]HOST:PORT or redis://[:PASSWORD@]HOST:PORT[/DB]")
	fs.IntVar(&g.grpcPort, "grpc-port", defaultGRPCPort, "`port` of the agent's gRPC server")
	fs.StringVar(&g.grpcSocket, "grpc-socket", "", "`path` of a unix socket of the agent's gRPC server, instead of host and port")
	fs.StringVar(&g.grpcToken, "grpc-token", "", "`token` for the gRPC server")
	fs.StringVar(&g.grpcBasicAuth, "grpc-basic-auth", "", "`user:password` for the gRPC server")
	g.tls.define(fs)
	fs.StringP("log-level", "l", "", "accepted for compatibility and ignored")
	_ = fs.MarkHidden("log-level") // fails only for unknown flags
	fs.StringVar(&g.config, "config", "", "configuration `file`, instead of the one in the directory")
	fs.StringVar(&g.context, "context", "", "`name` of a context of the configuration file, see context")
	fs.StringSliceVar(&g.targets, "target", nil, "`labels` of the agents to run the command on, or patterns ('*' is all); their addresses are in the store, see targets")
	for name, variable := range envOf {
		fs.Lookup(name).Usage += " [" + variable + "]"
	}
}

// fromEnvironment sets the flags that only variables give.
func (a *app) fromEnvironment(cmd *cobra.Command, _ []string) error {
	flags := cmd.Flags()
	_, a.namesKept = cmd.Annotations[namesKept]
	if a.wide = strings.EqualFold(a.format, "wide"); a.wide {
		a.format = ""
	}
	if a.structured {
		a.format = "json"
	}
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	a.global.targetsGiven = given["target"]
	if err := a.checkGiven(given); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(envOf)) {
		value, set := a.environ(envOf[name])
		overridden := func(rival string) bool { // by a flag, or by the variable of one that excludes this one
			return given[rival] || flags.Changed(rival) && slices.Contains(rivals[rival], name)
		}
		if given[name] || slices.ContainsFunc(rivals[name], overridden) || !set || value == "" {
			continue
		}
		if err := flags.Set(name, value); err != nil {
			return usage("environment variable %s: %w", envOf[name], err)
		}
	}
	return nil
}

// checkGiven returns an error for flags on the command line that exclude each other.
func (a *app) checkGiven(given map[string]bool) error {
	if i := slices.IndexFunc(ownAddress, func(name string) bool { return given[name] }); i >= 0 && given["target"] && a.target == nil {
		return usage("--target, --%s: expected one of them", ownAddress[i])
	}
	if given["store"] && given["etcd-endpoints"] {
		return usage("--store, --etcd-endpoints: expected one of them")
	}
	return nil
}

// connect evaluates the global flags and creates the client. A flag takes
// precedence over its variable, which takes precedence over the file.
func (a *app) connect(cmd *cobra.Command, args []string) error {
	flags := cmd.Flags()
	if err := a.fromEnvironment(cmd, args); err != nil {
		return err
	}
	cfg, _, err := a.readConfig()
	if err != nil {
		return err
	}
	g := &a.global
	file, err := cfg.inContext(cmp.Or(g.context, cfg.CurrentContext))
	if err != nil {
		return err
	}
	if err := file.setFlags(flags); err != nil {
		return err
	}
	a.file = file
	if a.target != nil {
		if err := g.use(a.target); err != nil {
			return err
		}
	}
	if err := g.validate(); err != nil {
		return err
	}
	opts := client.Options{Host: g.host, Port: g.port, BasicAuth: g.basicAuth, Token: g.httpToken, Timeout: g.timeout, ShowSecrets: g.showSecrets}
	if opts.TLS, err = g.tlsFor(file.HTTPTLS, "http-tls", a.target.GetHttp().GetTls()); err != nil {
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

// use sets the flags to what an agent publishes about itself.
func (g *globals) use(agent *announced.Agent) (err error) {
	g.label, g.grpcSocket = agent.Label, ""
	host, port, err := net.SplitHostPort(agent.Http.Address)
	if err == nil {
		g.host = host
		g.port, err = strconv.Atoi(port)
	}
	if err != nil {
		return fmt.Errorf("agent %s: http.address: %q: expected host:port", agent.Label, agent.Http.Address)
	}
	return nil
}

// setFlags sets the flags that have the names of keys of the file, unless they or their rivals
// are given. Rivals that are both in the file are left to validate.
func (c connection) setFlags(flags *pflag.FlagSet) error {
	texts := map[string]string{}
	keys := reflect.ValueOf(c)
	for n := range keys.NumField() {
		name, value := keys.Type().Field(n).Tag.Get("json"), keys.Field(n)
		if flags.Lookup(name) == nil || flags.Changed(name) || slices.ContainsFunc(rivals[name], flags.Changed) || value.IsZero() {
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

func (g *globals) validate() error {
	switch {
	case g.host == "":
		return usage("--host: expected an address")
	case g.port < 1 || g.port > 65535:
		return usage("--http-port: %d: expected 1 to 65535", g.port)
	case g.grpcPort < 1 || g.grpcPort > 65535:
		return usage("--grpc-port: %d: expected 1 to 65535", g.grpcPort)
	case g.basicAuth != "" && g.httpToken != "":
		return usage("--http-basic-auth, --http-token: expected one of them")
	case g.basicAuth != "" && !strings.Contains(g.basicAuth, ":"):
		return usage("--http-basic-auth: expected user:password")
	case g.grpcBasicAuth != "" && g.grpcToken != "":
		return usage("--grpc-basic-auth, --grpc-token: expected one of them")
	case g.grpcBasicAuth != "" && !strings.Contains(g.grpcBasicAuth, ":"):
		return usage("--grpc-basic-auth: expected user:password")
	case (g.tls.cert == "") != (g.tls.key == ""):
		return usage("--tls-cert-file, --tls-key-file: expected both or none")
	case g.timeout < 0:
		return usage("--timeout: %v: expected 0 or more", g.timeout)
	}
	return nil
}

// readConfig reads the configuration file, and returns its path.
func (a *app) readConfig() (cfg fileConfig, path string, err error) {
	path = a.global.config
	if path == "" {
		dir := a.global.configDir
		if dir == "" {
			home, set := a.environ("HOME")
			if !set {
				return cfg, "", nil
			}
			dir = filepath.Join(home, ".agentctl")
		}
		path = filepath.Join(dir, "config.yaml")
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && a.global.config == "" {
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
		fmt.Fprintf(a.Err, "WARNING: every user of this machine can read %s, which has secrets (chmod o-r)\n", path)
	}
	return cfg, path, nil
}

// secrets reports whether the file contains secrets.
func (c connection) secrets() bool {
	return c.HTTPBasicAuth+c.HTTPToken+c.GRPCToken+c.GRPCBasicAuth != ""
}

func seqNum(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, usage("%q: expected the sequence number of a transaction", text)
	}
	return n, nil
}

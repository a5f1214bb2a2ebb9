package rest

import (
	"os"
	"time"
)

// Config is the file http.conf.
type Config struct {
	Endpoint           string        `json:"endpoint" desc:"address and port to listen on; empty: listen on socket only; the flag --http-port replaces the port"`
	Socket             string        `json:"socket" desc:"path of a unix socket to listen on besides the endpoint, without TLS"`
	Permission         os.FileMode   `json:"permission" desc:"mode of the unix socket: clients with write permission can connect"`
	Disabled           bool          `json:"disabled" desc:"do not listen at all"`
	Disable            bool          `json:"disable" desc:"alias of disabled"`
	ReadTimeout        time.Duration `json:"read-timeout" desc:"timeout of reading the body of a request; 0 disables the limit"`
	ReadHeaderTimeout  time.Duration `json:"read-header-timeout" desc:"timeout of reading the header of a request; 0 disables the limit"`
	WriteTimeout       time.Duration `json:"write-timeout" desc:"timeout of a response; 0 disables the limit, which event streams require"`
	StallTimeout       time.Duration `json:"stall-timeout" desc:"how long a client may take to read the next 64 KiB of a response before it is disconnected; 0 disables the limit"`
	IdleTimeout        time.Duration `json:"idle-timeout" desc:"timeout of idle connections"`
	MaxHeaderBytes     int           `json:"max-header-bytes" desc:"maximum size of the header of a request, in bytes"`
	MaxBodyBytes       int64         `json:"max-body-bytes" desc:"maximum size of the body of a request, in bytes; 0 disables the limit"`
	MaxConnections     int           `json:"max-connections" desc:"maximum number of open connections; further ones wait. Never more than the limit of open files (RLIMIT_NOFILE) allows besides the work of the agent; 0: only that limit"`
	RateLimiter        RateLimiter   `json:"rate-limiter" desc:"limit on the request rate of each client"`
	ServerCertFile     string        `json:"server-cert-file" desc:"certificate of the server in PEM; with it and the key, the server speaks HTTPS"`
	ServerKeyFile      string        `json:"server-key-file" desc:"private key of the server in PEM"`
	ClientCertFiles    []string      `json:"client-cert-files" desc:"CA certificates in PEM that sign the certificates of clients; if set, clients must present a certificate"`
	ClientBasicAuth    []string      `json:"client-basic-auth" secret:"true" desc:"users with all permissions, each as user:password, or better user:HASH with the bcrypt hash of the password, as printed by htpasswd -nB. Every client has access if client-basic-auth and users are empty"`
	Users              []User        `json:"users" desc:"users and their permissions"`
	AllowedHosts       []string      `json:"allowed-hosts" desc:"names by which the server may be addressed, besides IP addresses, localhost, the name of this host, names in announce.conf and names without dots, if clients need no credentials; an unknown name may be the name of a web site that attacks through a browser. They are checked without TLS: in all requests if endpoint is a loopback address, else in those of browsers; * allows all"`
	Anonymous          []string      `json:"anonymous" desc:"permissions of clients without credentials, for example probe for Kubernetes, telemetry for Prometheus"`
	PasswordHashCost   int           `json:"password-hash-cost" desc:"cost of the bcrypt hashes of passwords in clear text, 4 to 16"`
	EnableTokenAuth    bool          `json:"enable-token-auth" desc:"users can log in at /auth/login, also in a browser, to get a token"`
	TokenExpiration    time.Duration `json:"token-expiration" desc:"lifetime of a token"`
	TokenSignature     string        `json:"token-signature" secret:"true" desc:"key that signs tokens, 32 bytes or more (a shorter one works, with a warning); the default is a random key, so that tokens become invalid when the process ends"`
	SignKey            string        `json:"sign-key" secret:"true" desc:"alias of token-signature"`
	TokenSignatureFile string        `json:"token-signature-file" desc:"file with the keys of tokens, one per line: the first signs, tokens signed by the others are valid as well; reloaded when it changes"`
}

// User is a user of the server.
type User struct {
	Name         string   `json:"name" desc:"name of the user"`
	PasswordHash string   `json:"password-hash" secret:"true" desc:"bcrypt hash of the password, as htpasswd -nB prints it"`
	Password     string   `json:"password" secret:"true" desc:"the password in clear text, instead of its hash"`
	Permissions  []string `json:"permissions" desc:"groups of endpoints: the headings of the index page, groups of plugins (info, dump, nbConfigRead, nbConfigWrite, nbConfigValidation, stats, telemetry), read (what changes nothing), secrets (to see those in answers), all; or endpoints, as PUT /log/{logger}/{level}; empty: none"`
}

// RateLimiter limits the request rate of each client.
type RateLimiter struct {
	Limit float64 `json:"limit" desc:"maximum requests per second of each client; 0 disables the limit"`
	Burst int     `json:"burst" desc:"maximum burst of requests of a client; 0 means the requests of one second"`
}

// DefaultConfig returns the configuration without a file: a server that is reachable from
// this machine only. There are no users, thus no well-known passwords.
func DefaultConfig() Config {
	return Config{
		Endpoint:          "127.0.0.1:9191",
		Permission:        0o660,
		ReadTimeout:       time.Minute,
		ReadHeaderTimeout: 10 * time.Second,
		StallTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		MaxBodyBytes:      257 << 20, // a little more than the maximum size of a document
		MaxConnections:    4096,
		PasswordHashCost:  10,
		TokenExpiration:   time.Hour,
	}
}

// protected reports whether clients need credentials.
func (c Config) protected() bool {
	return c.hasAccounts() || len(c.ClientCertFiles) > 0
}

func (c Config) hasAccounts() bool { return len(c.ClientBasicAuth)+len(c.Users) > 0 }

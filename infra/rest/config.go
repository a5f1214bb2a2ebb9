package rest

import (
	"os"
	"time"
)

// Config is the file http.conf.
type Config struct {
	Endpoint           string        `json:"endpoint" desc:"address and port to listen on; empty: on the socket alone; the flag --http-port replaces the port"`
	Socket             string        `json:"socket" desc:"path of a unix socket to listen on besides the endpoint, without TLS"`
	Permission         os.FileMode   `json:"permission" desc:"mode of the unix socket: who may write may connect"`
	Disabled           bool          `json:"disabled" desc:"do not listen at all"`
	Disable            bool          `json:"disable" desc:"the same as disabled"`
	ReadTimeout        time.Duration `json:"read-timeout" desc:"how long the body of a request may take to arrive; 0 means no bound"`
	ReadHeaderTimeout  time.Duration `json:"read-header-timeout" desc:"how long the header of a request may take to arrive; 0 means no bound"`
	WriteTimeout       time.Duration `json:"write-timeout" desc:"how long an answer may take; 0 means no bound, as what follows events goes on without end"`
	StallTimeout       time.Duration `json:"stall-timeout" desc:"how long a client may take for the next 64 KiB of an answer before it is cut off; 0 means no bound"`
	IdleTimeout        time.Duration `json:"idle-timeout" desc:"how long a connection may stay open without requests"`
	MaxHeaderBytes     int           `json:"max-header-bytes" desc:"bound on the header of a request, in bytes"`
	MaxBodyBytes       int64         `json:"max-body-bytes" desc:"bound on the body of a request, in bytes; 0 means no bound"`
	MaxConnections     int           `json:"max-connections" desc:"connections that are open at once, further ones wait; 0 means no bound"`
	RateLimiter        RateLimiter   `json:"rate-limiter" desc:"how often each client may ask"`
	ServerCertFile     string        `json:"server-cert-file" desc:"certificate of the server in PEM; with it and the key, the server speaks HTTPS"`
	ServerKeyFile      string        `json:"server-key-file" desc:"private key of the server in PEM"`
	ClientCertFiles    []string      `json:"client-cert-files" desc:"certificates in PEM that sign those of clients; if set, clients must have one"`
	ClientBasicAuth    []string      `json:"client-basic-auth" secret:"true" desc:"who may use the server for everything, each as user:password, or better with the bcrypt hash of the password, as htpasswd -nB prints it; empty, as users: everyone"`
	Users              []User        `json:"users" desc:"who may use the server for what"`
	Anonymous          []string      `json:"anonymous" desc:"permissions that need no user, for example probe for the probes of Kubernetes, telemetry for Prometheus"`
	PasswordHashCost   int           `json:"password-hash-cost" desc:"cost of the bcrypt hashes of passwords that are given in clear, 4 to 16"`
	EnableTokenAuth    bool          `json:"enable-token-auth" desc:"users can log in at /auth/login for a token, in a browser too"`
	TokenExpiration    time.Duration `json:"token-expiration" desc:"how long a token is good for"`
	TokenSignature     string        `json:"token-signature" secret:"true" desc:"key that signs tokens, 32 bytes or more; without a key there is a random one, and tokens end with the process"`
	SignKey            string        `json:"sign-key" secret:"true" desc:"the same as token-signature"`
	TokenSignatureFile string        `json:"token-signature-file" desc:"file with the keys of tokens, one a line: the first signs, tokens of the others are good as well; read again when it changes"`
}

// User is who may use the server, by password or by a token.
type User struct {
	Name         string   `json:"name" desc:"name of the user"`
	PasswordHash string   `json:"password-hash" secret:"true" desc:"bcrypt hash of the password, as htpasswd -nB prints it"`
	Password     string   `json:"password" secret:"true" desc:"the password in clear, instead of its hash"`
	Permissions  []string `json:"permissions" desc:"groups of endpoints: the headings of the index page, groups of plugins (info, dump, nbConfigRead, nbConfigWrite, nbConfigValidation, stats, telemetry), read (what changes nothing), secrets (to see those in answers), all; or endpoints, as PUT /log/{logger}/{level}; empty: none"`
}

// RateLimiter bounds how often each client may ask.
type RateLimiter struct {
	Limit float64 `json:"limit" desc:"requests per second of each client; 0 means no bound"`
	Burst int     `json:"burst" desc:"requests of a client that may come at once; 0 means as many as in a second"`
}

// DefaultConfig is what holds without a file: reachable from this machine only.
// There are no users, thus no passwords that everybody knows.
func DefaultConfig() Config {
	return Config{
		Endpoint:          "127.0.0.1:9191",
		Permission:        0o660,
		ReadTimeout:       time.Minute,
		ReadHeaderTimeout: 10 * time.Second,
		StallTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		MaxBodyBytes:      257 << 20, // a little more than a document may have
		MaxConnections:    4096,
		PasswordHashCost:  10,
		TokenExpiration:   time.Hour,
	}
}

// protected tells whether something keeps strangers out.
func (c Config) protected() bool {
	return c.hasAccounts() || len(c.ClientCertFiles) > 0
}

func (c Config) hasAccounts() bool { return len(c.ClientBasicAuth)+len(c.Users) > 0 }

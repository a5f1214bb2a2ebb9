package cli

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/spf13/pflag"
)

// tlsConfig is how a client speaks TLS, in the configuration file.
type tlsConfig struct {
	Disabled   bool   `json:"disabled" desc:"do not use TLS"`
	CertFile   string `json:"cert-file" desc:"certificate of this client, in PEM"`
	KeyFile    string `json:"key-file" desc:"private key of this client, in PEM"`
	CAFile     string `json:"ca-file" desc:"certificates that sign that of the server, in PEM; empty: those of the system"`
	SkipVerify bool   `json:"skip-verify" desc:"do not check the certificate of the server"`
}

// tlsFlags are the same for both servers of an agent; each of them wins over
// what the file says.
type tlsFlags struct {
	on            bool
	ca, cert, key string
}

func (f *tlsFlags) define(fs *pflag.FlagSet) {
	fs.BoolVar(&f.on, "tls", false, "use TLS to talk to the HTTP and the gRPC server")
	fs.StringVar(&f.ca, "tls-ca-file", "", "`file` with the certificates that sign that of the server, in PEM; implies --tls")
	fs.StringVar(&f.cert, "tls-cert-file", "", "`file` with the certificate of this client, in PEM; implies --tls")
	fs.StringVar(&f.key, "tls-key-file", "", "`file` with the private key of this client, in PEM")
}

// over returns what the flags make of the file's settings; nil: no TLS. key is
// what errors call the settings.
func (f tlsFlags) over(c *tlsConfig, key string) (*tlsConfig, tlsNames) {
	names := tlsNames{key + ".ca-file", key + ".cert-file, " + key + ".key-file"}
	if c == nil || c.Disabled {
		if !f.on && f.ca == "" && f.cert == "" {
			return nil, names
		}
		c = &tlsConfig{}
	}
	merged := *c
	if f.ca != "" {
		merged.CAFile, names.ca = f.ca, "--tls-ca-file"
	}
	if f.cert != "" {
		merged.CertFile, merged.KeyFile, names.pair = f.cert, f.key, "--tls-cert-file, --tls-key-file"
	}
	return &merged, names
}

// tlsNames are what errors call the files.
type tlsNames struct{ ca, pair string }

// tlsFor returns nil if TLS shall not be used; key is that of the configuration.
func (g *globals) tlsFor(file *tlsConfig, key string) (*tls.Config, error) {
	c, names := g.tls.over(file, key)
	if c == nil {
		if !g.insecureTLS {
			return nil, nil
		}
		c = &tlsConfig{}
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: g.insecureTLS || c.SkipVerify}
	if c.CertFile != "" || c.KeyFile != "" {
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names.pair, err)
		}
		t.Certificates = []tls.Certificate{cert}
	}
	if c.CAFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", names.ca, err)
	}
	t.RootCAs = x509.NewCertPool()
	if !t.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: %s: expected certificates in PEM", names.ca, c.CAFile)
	}
	return t, nil
}

package cli

import (
	"crypto/tls"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra/certs"
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

// tlsFor returns how to talk to a server, with the flags and what the file says; nil: without
// TLS. key is what the file calls its settings; published reports that the agent publishes that
// it speaks TLS.
func (g *globals) tlsFor(file *tlsConfig, key string, published bool) (*tls.Config, error) {
	c := certs.Client{SkipVerify: g.insecureTLS, Keys: certs.Keys{Pair: key + ".cert-file, " + key + ".key-file", CAs: key + ".ca-file"}}
	on := published || g.insecureTLS || g.tls.on || g.tls.ca != "" || g.tls.cert != ""
	if file != nil && !file.Disabled {
		on = true
		c.Cert, c.Key, c.CA, c.SkipVerify = file.CertFile, file.KeyFile, file.CAFile, g.insecureTLS || file.SkipVerify
	}
	if g.tls.ca != "" {
		c.CA, c.Keys.CAs = g.tls.ca, "--tls-ca-file"
	}
	if g.tls.cert != "" {
		c.Cert, c.Key, c.Keys.Pair = g.tls.cert, g.tls.key, "--tls-cert-file, --tls-key-file"
	}
	if !on {
		return nil, nil
	}
	return c.Config()
}

package cmdutil

import (
	"crypto/tls"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra/certs"
)

// TLSConfig is how a client speaks TLS, in the configuration file.
type TLSConfig struct {
	Disabled   bool   `json:"disabled" desc:"do not use TLS"`
	CertFile   string `json:"cert-file" desc:"certificate of this client, in PEM"`
	KeyFile    string `json:"key-file" desc:"private key of this client, in PEM"`
	CAFile     string `json:"ca-file" desc:"CA certificates that sign the server's certificate, in PEM; empty: the CAs of the system"`
	SkipVerify bool   `json:"skip-verify" desc:"do not check the certificate of the server"`
}

// TLSFlags are the same for both servers of an agent; each of them wins over
// what the file says.
type TLSFlags struct {
	on            bool
	ca, cert, key string
}

func (f *TLSFlags) define(fs *pflag.FlagSet) {
	fs.BoolVar(&f.on, "tls", false, "use TLS to talk to the HTTP and the gRPC server")
	describe(fs, "tls", "AGENTCTL_TLS")
	fs.StringVar(&f.ca, "tls-ca-file", "", "`file` with the CA certificates that sign the server's certificate, in PEM; implies --tls")
	describe(fs, "tls-ca-file", "AGENTCTL_TLS_CA_FILE")
	fs.StringVar(&f.cert, "tls-cert-file", "", "`file` with the certificate of this client, in PEM; implies --tls")
	describe(fs, "tls-cert-file", "AGENTCTL_TLS_CERT_FILE")
	fs.StringVar(&f.key, "tls-key-file", "", "`file` with the private key of this client, in PEM")
	describe(fs, "tls-key-file", "AGENTCTL_TLS_KEY_FILE")
}

// tlsFor returns how to talk to a server, with the flags and what the file says; nil: without
// TLS. key is what the file calls its settings; published reports that the agent publishes that
// it speaks TLS.
func (g *Flags) tlsFor(file *TLSConfig, key string, published bool) (*tls.Config, error) {
	c := certs.Client{SkipVerify: g.InsecureTLS, Keys: certs.Keys{Pair: key + ".cert-file, " + key + ".key-file", CAs: key + ".ca-file"}}
	on := published || g.InsecureTLS || g.TLS.on || g.TLS.ca != "" || g.TLS.cert != ""
	if file != nil && !file.Disabled {
		on = true
		c.Cert, c.Key, c.CA, c.SkipVerify = file.CertFile, file.KeyFile, file.CAFile, g.InsecureTLS || file.SkipVerify
	}
	if g.TLS.ca != "" {
		c.CA, c.Keys.CAs = g.TLS.ca, "--tls-ca-file"
	}
	if g.TLS.cert != "" {
		c.Cert, c.Key, c.Keys.Pair = g.TLS.cert, g.TLS.key, "--tls-cert-file, --tls-key-file"
	}
	if !on {
		return nil, nil
	}
	return c.Config()
}

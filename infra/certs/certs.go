// Package certs loads the certificates of TLS servers and clients, and the CAs that sign
// the certificates of the other side. It reloads the files of servers when they change,
// so that certificates can be renewed without a restart.
package certs

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/tenuto-dev/tenuto/infra/reload"
)

// Files are the files of a server, all in PEM.
type Files struct {
	Cert, Key string
	// ClientCAs sign the certificates of clients. If there are any, clients must
	// present a certificate.
	ClientCAs []string
	// Keys are the configuration keys of these files, for errors.
	Keys Keys
}

// Keys are names of configuration keys.
type Keys struct{ Pair, CAs string }

// Server holds the certificates of a TLS server. It may be used concurrently.
type Server struct {
	live *reload.Value[*tls.Config]
}

// Options are the options of Load.
type Options struct {
	// Protocols are offered to clients (ALPN), such as "h2".
	Protocols []string
	// Changed is called when the files have changed. If they are invalid, it
	// gets the error and the server keeps the previous certificates.
	Changed func(error)
	// Now is the clock for the reload; time.Now if nil.
	Now func() time.Time
}

// Load reads the files. Errors name the configuration keys.
func Load(f Files, opts Options) (*Server, error) {
	files := append([]string{f.Cert, f.Key}, f.ClientCAs...)
	live, err := reload.Load(files, func() (*tls.Config, error) { return f.load(opts.Protocols) },
		reload.Options{Now: opts.Now, Changed: opts.Changed})
	if err != nil {
		return nil, err
	}
	return &Server{live}, nil
}

func (f Files) load(protocols []string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols}
	var err error
	if c.Certificates, err = pair(f.Keys.Pair, f.Cert, f.Key); err != nil || len(f.ClientCAs) == 0 {
		return c, err
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.ClientCAs, err = pool(f.Keys.CAs, f.ClientCAs)
	return c, err
}

func pair(key, certFile, keyFile string) ([]tls.Certificate, error) {
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return []tls.Certificate{cert}, nil
}

func pool(key string, files []string) (*x509.CertPool, error) {
	cas := x509.NewCertPool()
	for _, file := range files {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if !cas.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: %s: expected certificates in PEM", key, file)
		}
	}
	return cas, nil
}

// Client is what a TLS client needs; the files are in PEM.
type Client struct {
	Cert, Key  string // empty: none
	CA         string // signs the certificates of servers; empty: the CAs of the system
	SkipVerify bool   // do not verify the server
	Keys       Keys   // default: "cert-file, key-file" and "ca-file"
}

// Config reads the files. Errors name the configuration keys.
func (c Client) Config() (cfg *tls.Config, err error) {
	keys := Keys{cmp.Or(c.Keys.Pair, "cert-file, key-file"), cmp.Or(c.Keys.CAs, "ca-file")}
	cfg = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.SkipVerify}
	if (c.Cert == "") != (c.Key == "") {
		return nil, fmt.Errorf("%s: expected both or none", keys.Pair)
	}
	if c.Cert != "" {
		if cfg.Certificates, err = pair(keys.Pair, c.Cert, c.Key); err != nil {
			return nil, err
		}
	}
	if c.CA != "" {
		cfg.RootCAs, err = pool(keys.CAs, []string{c.CA})
	}
	return cfg, err
}

// Config returns the TLS configuration of the server. Every handshake uses the
// current certificates.
func (s *Server) Config() *tls.Config {
	c := s.live.Get().Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.live.Get(), nil }
	return c
}

// NotAfter returns when the certificate of the server expires.
func (s *Server) NotAfter() time.Time { return s.leaf().NotAfter }

// Valid reports whether the certificate of the server is valid at a time.
func (s *Server) Valid(at time.Time) bool {
	leaf := s.leaf()
	return !at.Before(leaf.NotBefore) && !at.After(leaf.NotAfter)
}

// leaf is never nil since LoadX509KeyPair parses it.
func (s *Server) leaf() *x509.Certificate { return s.live.Get().Certificates[0].Leaf }

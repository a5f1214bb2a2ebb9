// Package certs has the TLS side of servers: their certificate, and those that
// sign the certificates of clients. The files are read again when they change,
// so that a certificate is renewed without a restart.
package certs

import (
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
	// ClientCAs sign the certificates of clients; if there are any, clients must
	// have one.
	ClientCAs []string
	// Keys are the names of these files in the configuration, for errors.
	Keys Keys
}

// Keys are names in a configuration.
type Keys struct{ Pair, ClientCAs string }

// Server is the TLS side of a server. It may be used concurrently.
type Server struct {
	live *reload.Value[*tls.Config]
}

// Options are what Load works with.
type Options struct {
	// Protocols are those that are offered, such as "h2".
	Protocols []string
	// Changed is called when the files have changed, with an error if they
	// cannot be used; then the certificates stay what they were.
	Changed func(error)
	// Now is the clock that says when to look at the files again; time.Now if nil.
	Now func() time.Time
}

// Load reads the files. The error names the keys of the configuration.
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
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Keys.Pair, err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: protocols}
	if len(f.ClientCAs) == 0 {
		return c, nil
	}
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	for _, file := range f.ClientCAs {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Keys.ClientCAs, err)
		}
		if !c.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: %s: expected certificates in PEM", f.Keys.ClientCAs, file)
		}
	}
	return c, nil
}

// Config is what a server is configured with: every handshake has the
// certificates of that time.
func (s *Server) Config() *tls.Config {
	c := s.live.Get().Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.live.Get(), nil }
	return c
}

// NotAfter returns until when the certificate of the server is valid.
func (s *Server) NotAfter() time.Time { return s.leaf().NotAfter }

// Valid tells whether the certificate of the server is valid at a time.
func (s *Server) Valid(at time.Time) bool {
	leaf := s.leaf()
	return !at.Before(leaf.NotBefore) && !at.After(leaf.NotAfter)
}

// leaf is there since LoadX509KeyPair parses it.
func (s *Server) leaf() *x509.Certificate { return s.live.Get().Certificates[0].Leaf }

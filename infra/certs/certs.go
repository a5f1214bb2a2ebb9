// Package certs loads the certificates of TLS servers and the CAs that sign
// client certificates. It reloads the files when they change, so that
// certificates can be renewed without a restart.
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
	// ClientCAs sign the certificates of clients. If there are any, clients must
	// present a certificate.
	ClientCAs []string
	// Keys are the configuration keys of these files, for errors.
	Keys Keys
}

// Keys are names of configuration keys.
type Keys struct{ Pair, ClientCAs string }

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

package kv

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLS is the TLS configuration of a connector, regardless of the names of its
// configuration keys.
type TLS struct {
	CertFile, KeyFile string // the client's certificate, in PEM; empty: none
	CAFile            string // CAs of the servers, in PEM; empty: those of the system
	SkipVerify        bool   // do not verify the server
}

// Config reads the files. The minimum is TLS 1.2.
func (t TLS) Config() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.SkipVerify}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, errors.New("cert-file, key-file: expected both or none")
	}
	if t.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("cert-file, key-file: %w", err)
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca-file: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca-file: %s: expected certificates in PEM", t.CAFile)
		}
	}
	return cfg, nil
}

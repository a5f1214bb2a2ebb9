package certs_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/certs"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// issue writes a certificate that signs itself, with a name, and its key.
func issue(t *testing.T, cert, key, name string, notAfter time.Time) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	infratest.Fatal(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: notAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	infratest.Fatal(t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	infratest.Fatal(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	err = errors.Join(os.WriteFile(cert, text, 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600))
	infratest.Fatal(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

// handshake returns the name in the certificate that a server shows.
func handshake(t *testing.T, server, client *tls.Config) (string, error) {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	done := make(chan error, 1)
	go func() {
		s := tls.Server(a, server)
		err := s.HandshakeContext(t.Context())
		if err == nil {
			_, err = s.Write([]byte{1})
		}
		a.Close()
		done <- err
	}()
	c := tls.Client(b, client)
	err := c.HandshakeContext(t.Context())
	if err == nil {
		_, err = c.Read(make([]byte, 1)) // a server refuses clients after their handshake
	}
	b.Close()
	if serverErr := <-done; err == nil {
		err = serverErr
	}
	if err != nil {
		return "", err
	}
	return c.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, ca := filepath.Join(dir, "cert"), filepath.Join(dir, "key"), filepath.Join(dir, "ca")
	end := time.Now().Add(time.Hour).Truncate(time.Second)
	issue(t, cert, key, "one", end)
	issue(t, ca, filepath.Join(dir, "ca-key"), "client", end)
	known, err := tls.LoadX509KeyPair(ca, filepath.Join(dir, "ca-key"))
	infratest.Fatal(t, err)
	now := time.Now()
	var told []error
	s, err := certs.Load(certs.Files{Cert: cert, Key: key, ClientCAs: []string{ca}},
		certs.Options{Protocols: []string{"h2"}, Now: func() time.Time { return now }, Changed: func(err error) { told = append(told, err) }})
	infratest.Fatal(t, err)
	config := s.Config()
	as := func(client ...tls.Certificate) *tls.Config {
		return &tls.Config{InsecureSkipVerify: true, Certificates: client, NextProtos: []string{"h2"}}
	}
	want := func(what, name string, changes int) {
		t.Helper()
		got, err := handshake(t, config, as(known))
		if got != name || err != nil || len(told) != changes {
			t.Errorf("%s: got %q, %v, told %v", what, got, err, told)
		}
	}
	want("at first", "one", 0)
	if !s.NotAfter().Equal(end) || !s.Valid(now) || s.Valid(end.Add(time.Second)) || s.Valid(now.Add(-3*time.Hour)) {
		t.Errorf("valid until %v", s.NotAfter())
	}
	issue(t, cert, key, "two", end)
	now = now.Add(time.Minute)
	want("after the renewal", "two", 1)
	infratest.Fatal(t, os.WriteFile(key, []byte("rubbish"), 0o600))
	now = now.Add(time.Minute)
	want("with a key that is none", "two", 2)
	if told[0] != nil || told[1] == nil {
		t.Errorf("told %v", told)
	}
	if _, err := handshake(t, config, as()); err == nil {
		t.Error("a client without a certificate was served")
	}
	// Who signs the clients' certificates can change, too.
	issue(t, cert, key, "three", end)
	issue(t, ca, filepath.Join(dir, "ca-key"), "other client", end)
	now = now.Add(time.Minute)
	if _, err := handshake(t, config, as(known)); err == nil {
		t.Error("a client of the authority that was replaced was served")
	}
	if known, err = tls.LoadX509KeyPair(ca, filepath.Join(dir, "ca-key")); err != nil {
		t.Fatal(err)
	}
	want("a client of the new one", "three", 3)
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, none := filepath.Join(dir, "cert"), filepath.Join(dir, "key"), filepath.Join(dir, "none")
	issue(t, cert, key, "a", time.Now().Add(time.Hour))
	other := filepath.Join(dir, "other")
	issue(t, filepath.Join(dir, "x"), other, "b", time.Now().Add(time.Hour))
	for want, f := range map[string]certs.Files{
		"the-pair: open " + none:                      {Cert: cert, Key: none},
		"the-pair: tls: private key does not match":   {Cert: cert, Key: other},
		"the-cas: open " + none:                       {Cert: cert, Key: key, ClientCAs: []string{none}},
		"the-cas: " + key + ": expected certificates": {Cert: cert, Key: key, ClientCAs: []string{cert, key}},
	} {
		f.Keys = certs.Keys{Pair: "the-pair", CAs: "the-cas"}
		if _, err := certs.Load(f, certs.Options{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

package kvtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// Certs are the files of a certificate authority, and of a certificate that it
// signed for 127.0.0.1, for servers and clients.
type Certs struct {
	CA, Cert, Key string

	authority *x509.Certificate
	caKey     *ecdsa.PrivateKey
}

// CertName is the common name (CN) in the certificates of Certs.
const CertName = "test"

// NewCerts creates an authority.
func NewCerts(tb testing.TB) Certs {
	tb.Helper()
	dir := tb.TempDir()
	c := Certs{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	caKey, key := newKey(tb), newKey(tb)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	c.authority, c.caKey = ca, caKey
	c.write(tb, c.CA, "CERTIFICATE", sign(tb, ca, ca, &caKey.PublicKey, caKey))
	c.issue(tb, CertName, key)
	return c
}

// For returns another certificate of the authority, with a common name.
func (c Certs) For(tb testing.TB, name string) Certs {
	tb.Helper()
	dir := tb.TempDir()
	c.Cert, c.Key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	c.issue(tb, name, newKey(tb))
	return c
}

// issue writes a certificate with its key.
func (c Certs) issue(tb testing.TB, name string, key *ecdsa.PrivateKey) {
	tb.Helper()
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: c.authority.NotBefore, NotAfter: c.authority.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	c.write(tb, c.Cert, "CERTIFICATE", sign(tb, leaf, c.authority, &key.PublicKey, c.caKey))
	der, err := x509.MarshalECPrivateKey(key)
	infratest.Fatal(tb, err)
	c.write(tb, c.Key, "EC PRIVATE KEY", der)
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	infratest.Fatal(tb, err)
	return key
}

func sign(tb testing.TB, cert, parent *x509.Certificate, pub *ecdsa.PublicKey, key *ecdsa.PrivateKey) []byte {
	tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, pub, key)
	infratest.Fatal(tb, err)
	return der
}

func (c Certs) write(tb testing.TB, path, kind string, der []byte) {
	tb.Helper()
	infratest.Fatal(tb, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

package cryptodata

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// Prefix is the prefix of encrypted text. It is followed by Base64 of either
//
//   - the text, encrypted by RSA-OAEP with SHA-256, or, if it is too long for the
//     key,
//   - a random key of 32 bytes, encrypted likewise, followed by a random nonce of 12
//     bytes and the text, encrypted by AES-GCM with this key and nonce.
const Prefix = "$crypto$"

// minBits is the size of the smallest accepted RSA key.
const minBits = 2048

const sessionKey = 32 // bytes: AES-256

// ErrNoKey is returned if no key decrypts a text.
var ErrNoKey = errors.New("the text was encrypted for another key, or is damaged")

// Encrypt returns the encrypted text of a value, for the holder of the private
// key.
func Encrypt(key *rsa.PublicKey, plain []byte) (string, error) {
	if len(plain) <= key.Size()-2*sha256.Size-2 {
		sealed, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, key, plain, nil)
		if err != nil {
			return "", fmt.Errorf("encrypt: %w", err)
		}
		return Prefix + base64.StdEncoding.EncodeToString(sealed), nil
	}
	session := make([]byte, sessionKey)
	_, _ = rand.Read(session) // never fails
	sealed, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, key, session, nil)
	if err != nil {
		return "", fmt.Errorf("encrypt: %w", err)
	}
	aead, err := gcm(session)
	if err != nil {
		return "", fmt.Errorf("encrypt: %w", err)
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce)
	sealed = append(sealed, nonce...)
	return Prefix + base64.StdEncoding.EncodeToString(aead.Seal(sealed, nonce, plain, nil)), nil
}

func gcm(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Keys are private keys that are tried one after the other. They may be used
// concurrently.
type Keys []*rsa.PrivateKey

// Decrypt is the inverse of Encrypt. It also accepts Base64 for URLs, and Base64
// without padding. Errors never show the content.
func (k Keys) Decrypt(text string) ([]byte, error) {
	body, ok := strings.CutPrefix(text, Prefix)
	if !ok {
		return nil, fmt.Errorf("expected text that begins with %s", Prefix)
	}
	body = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(strings.TrimSpace(body), "="))
	sealed, err := base64.RawStdEncoding.DecodeString(body)
	if err != nil {
		return nil, fmt.Errorf("expected base64 after %s", Prefix)
	}
	for _, key := range k {
		if plain, err := open(key, sealed); err == nil {
			return plain, nil
		}
	}
	return nil, ErrNoKey
}

func open(key *rsa.PrivateKey, sealed []byte) ([]byte, error) {
	if len(sealed) < key.Size() {
		return nil, ErrNoKey
	}
	first, err := rsa.DecryptOAEP(sha256.New(), nil, key, sealed[:key.Size()], nil)
	if err != nil || len(sealed) == key.Size() {
		return first, err
	}
	rest := sealed[key.Size():]
	if len(first) != sessionKey {
		return nil, ErrNoKey
	}
	aead, err := gcm(first)
	if err != nil {
		return nil, err
	}
	if len(rest) < aead.NonceSize() {
		return nil, ErrNoKey
	}
	return aead.Open(nil, rest[:aead.NonceSize()], rest[aead.NonceSize():], nil)
}

// ParsePrivateKey reads an RSA key in PEM, PKCS #1 or PKCS #8.
func ParsePrivateKey(text []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("expected a private RSA key in PEM")
	}
	var parsed any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "PRIVATE KEY":
		parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	default:
		return nil, fmt.Errorf("expected a private RSA key without passphrase, found %q", block.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("parse the private key: %w", err)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("expected an RSA key, found %T", parsed)
	}
	return key, checkSize(&key.PublicKey)
}

// ParsePublicKey reads a public RSA key in PEM from a public key, a private
// key or a certificate.
func ParsePublicKey(text []byte) (*rsa.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("expected an RSA key or a certificate in PEM")
	}
	var parsed any
	var err error
	switch block.Type {
	case "RSA PUBLIC KEY":
		parsed, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case "PUBLIC KEY":
		parsed, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "CERTIFICATE":
		var cert *x509.Certificate
		if cert, err = x509.ParseCertificate(block.Bytes); err == nil {
			parsed = cert.PublicKey
		}
	default:
		key, err := ParsePrivateKey(text)
		if err != nil {
			return nil, err
		}
		return &key.PublicKey, nil
	}
	if err != nil {
		return nil, fmt.Errorf("parse the public key: %w", err)
	}
	key, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("expected an RSA key, found %T", parsed)
	}
	return key, checkSize(key)
}

func checkSize(key *rsa.PublicKey) error {
	if bits := key.N.BitLen(); bits < minBits {
		return fmt.Errorf("the key has %d bits, expected at least %d", bits, minBits)
	}
	return nil
}

// GenerateKey generates a key pair and returns its halves in PEM.
func GenerateKey() (private, public []byte, err error) {
	key, err := rsa.GenerateKey(rand.Reader, 3072)
	if err != nil {
		return nil, nil, fmt.Errorf("generate a key: %w", err)
	}
	private = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	public = pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&key.PublicKey)})
	return private, public, nil
}

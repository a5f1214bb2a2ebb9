package rest

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
)

// minKey is the least length of a key that signs tokens (RFC 7518, 3.2).
const minKey = 32

// Validate says which keys have impossible values.
func (c Config) Validate() error {
	return errors.Join(c.checkListen(), c.checkBounds(), c.checkAccounts(), c.checkTokens())
}

func (c Config) checkListen() error {
	var errs []error
	if c.Endpoint == "" && c.Socket == "" {
		errs = append(errs, errors.New("endpoint: expected host:port, or a socket"))
	}
	if c.Endpoint != "" {
		if _, port, err := net.SplitHostPort(c.Endpoint); err != nil {
			errs = append(errs, fmt.Errorf("endpoint: %q: expected host:port", c.Endpoint))
		} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			errs = append(errs, fmt.Errorf("endpoint: port %q: expected a number from 0 to 65535", port))
		}
	}
	if c.Permission&^os.ModePerm != 0 {
		errs = append(errs, fmt.Errorf("permission: %o: expected at most 0777", c.Permission))
	}
	if (c.ServerCertFile == "") != (c.ServerKeyFile == "") {
		errs = append(errs, errors.New("server-cert-file, server-key-file: expected both or none"))
	}
	if len(c.ClientCertFiles) > 0 && c.ServerCertFile == "" {
		errs = append(errs, errors.New("client-cert-files: expected server-cert-file and server-key-file too"))
	}
	return errors.Join(errs...)
}

func (c Config) checkBounds() error {
	var errs []error
	for _, t := range []struct {
		key   string
		value time.Duration
	}{
		{"read-timeout", c.ReadTimeout}, {"read-header-timeout", c.ReadHeaderTimeout},
		{"write-timeout", c.WriteTimeout}, {"stall-timeout", c.StallTimeout}, {"idle-timeout", c.IdleTimeout},
	} {
		if t.value < 0 {
			errs = append(errs, fmt.Errorf("%s: %v: expected no negative time", t.key, t.value))
		}
	}
	for _, n := range []struct {
		key   string
		value int64
	}{
		{"max-header-bytes", int64(c.MaxHeaderBytes)}, {"max-body-bytes", c.MaxBodyBytes},
		{"max-connections", int64(c.MaxConnections)}, {"rate-limiter.burst", int64(c.RateLimiter.Burst)},
	} {
		if n.value < 0 {
			errs = append(errs, fmt.Errorf("%s: %d: expected no negative number", n.key, n.value))
		}
	}
	if l := c.RateLimiter.Limit; !(l >= 0) || l > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("rate-limiter.limit: %v: expected a number of requests per second", l))
	}
	return errors.Join(errs...)
}

func (c Config) checkAccounts() error {
	var errs []error
	names := map[string]string{}
	name := func(key, name string) {
		if first, twice := names[name]; twice {
			errs = append(errs, fmt.Errorf("%s: user %q is in %s already", key, name, first))
		}
		names[name] = key
	}
	for i, entry := range c.ClientBasicAuth {
		key := fmt.Sprintf("client-basic-auth[%d]", i)
		user, password, ok := strings.Cut(entry, ":")
		if !ok || user == "" {
			errs = append(errs, fmt.Errorf("%s: expected user:password", key))
			continue
		}
		name(key, user)
		errs = append(errs, checkPassword(key, password))
	}
	for i, u := range c.Users {
		key := fmt.Sprintf("users[%d]", i)
		if u.Name == "" || strings.Contains(u.Name, ":") {
			errs = append(errs, fmt.Errorf("%s.name: %q: expected a name without a colon", key, u.Name))
		}
		name(key, u.Name)
		switch {
		case (u.PasswordHash == "") == (u.Password == ""):
			errs = append(errs, fmt.Errorf("%s: expected one of password-hash and password", key))
		case u.Password != "":
			errs = append(errs, checkPassword(key+".password", u.Password))
		case !accounts.IsHash(u.PasswordHash):
			errs = append(errs, fmt.Errorf("%s.password-hash: expected a bcrypt hash, as htpasswd -nB prints it", key))
		}
	}
	if len(c.Anonymous) > 0 && !c.hasAccounts() {
		errs = append(errs, errors.New("anonymous: expected users too, as everybody may do everything without"))
	}
	if c.PasswordHashCost < 4 || c.PasswordHashCost > 16 {
		errs = append(errs, fmt.Errorf("password-hash-cost: %d: expected 4 to 16", c.PasswordHashCost))
	}
	return errors.Join(errs...)
}

func checkPassword(key, password string) error {
	if password == "" || len(password) > accounts.MaxPassword {
		return fmt.Errorf("%s: expected a password of 1 to %d bytes", key, accounts.MaxPassword)
	}
	return nil
}

func (c Config) checkTokens() error {
	var errs []error
	given := 0
	for _, k := range []struct{ key, value string }{
		{"token-signature", c.TokenSignature}, {"sign-key", c.SignKey}, {"token-signature-file", c.TokenSignatureFile},
	} {
		if k.value == "" {
			continue
		}
		given++
		if k.key != "token-signature-file" && len(k.value) < minKey {
			errs = append(errs, fmt.Errorf("%s: expected %d bytes or more, such as openssl rand -hex 32 prints", k.key, minKey))
		}
	}
	if given > 1 {
		errs = append(errs, errors.New("token-signature, token-signature-file, sign-key: expected one of them"))
	}
	if c.EnableTokenAuth && !c.hasAccounts() {
		errs = append(errs, errors.New("enable-token-auth: expected users who can log in"))
	}
	if c.TokenExpiration < time.Second {
		errs = append(errs, fmt.Errorf("token-expiration: %v: expected at least 1s", c.TokenExpiration))
	}
	return errors.Join(errs...)
}

package rest

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
)

// minKey is the minimum length of a key that signs tokens (RFC 7518, 3.2).
const minKey = 32

// Validate returns an error for invalid values.
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
	if len(c.Anonymous) > 0 && !c.hasAccounts() {
		errs = append(errs, errors.New("anonymous: expected users too, since without users every client has all permissions"))
	}
	return errors.Join(append(errs, c.lists().Check())...)
}

// lists returns the accounts of the configuration file.
func (c Config) lists() accounts.Lists {
	return accounts.NewLists(c.ClientBasicAuth, c.Users, User.account, c.PasswordHashCost)
}

func (u User) account() accounts.User {
	return accounts.User{Name: u.Name, Password: u.PasswordHash + u.Password, Permissions: u.Permissions, Check: u.check}
}

func (u User) check(key string) error {
	if (u.PasswordHash == "") == (u.Password == "") {
		return fmt.Errorf("%s: expected one of password-hash and password", key)
	}
	return accounts.CheckPassword(key, u.Password, u.PasswordHash)
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
	}
	if given > 1 {
		errs = append(errs, errors.New("token-signature, token-signature-file, sign-key: expected at most one of them"))
	}
	if c.EnableTokenAuth && !c.hasAccounts() {
		errs = append(errs, errors.New("enable-token-auth: expected users who can log in"))
	}
	if c.TokenExpiration < time.Second {
		errs = append(errs, fmt.Errorf("token-expiration: %v: expected at least 1s", c.TokenExpiration))
	}
	return errors.Join(errs...)
}

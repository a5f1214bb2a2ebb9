package rest

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
	"github.com/tenuto-dev/tenuto/infra/listen"
)

// minKey is the minimum length of a key that signs tokens (RFC 7518, 3.2).
const minKey = 32

// Validate returns an error for invalid values.
func (c Config) Validate() error {
	var check config.Checks
	c.checkListen(&check)
	c.checkLimits(&check)
	c.checkAccounts(&check)
	return check.Err()
}

func (c Config) checkListen(check *config.Checks) {
	check.Expect(c.Endpoint != "" || c.Socket != "", "endpoint: expected host:port, or a socket")
	if c.Endpoint != "" {
		check.Add(listen.CheckEndpoint(c.Endpoint))
	}
	for i, host := range c.AllowedHosts {
		check.Expect(host != "" && !strings.ContainsAny(host, "/: "), "allowed-hosts[%d]: %q: expected the name of a host without a port", i, host)
	}
	check.Expect(c.Permission&^os.ModePerm == 0, "permission: %o: expected at most 0777", c.Permission)
	check.Expect((c.ServerCertFile == "") == (c.ServerKeyFile == ""), "server-cert-file, server-key-file: expected both or none")
	check.Expect(len(c.ClientCertFiles) == 0 || c.ServerCertFile != "", "client-cert-files: expected server-cert-file and server-key-file too")
}

func (c Config) checkLimits(check *config.Checks) {
	for _, t := range []struct {
		key   string
		value time.Duration
	}{
		{"read-timeout", c.ReadTimeout}, {"read-header-timeout", c.ReadHeaderTimeout},
		{"write-timeout", c.WriteTimeout}, {"stall-timeout", c.StallTimeout}, {"idle-timeout", c.IdleTimeout},
	} {
		check.Expect(t.value >= 0, "%s: %v: expected no negative time", t.key, t.value)
	}
	for _, n := range []struct {
		key   string
		value int64
	}{
		{"max-header-bytes", int64(c.MaxHeaderBytes)}, {"max-body-bytes", c.MaxBodyBytes},
		{"max-connections", int64(c.MaxConnections)}, {"rate-limiter.burst", int64(c.RateLimiter.Burst)},
	} {
		check.Expect(n.value >= 0, "%s: %d: expected no negative number", n.key, n.value)
	}
	l := c.RateLimiter.Limit
	check.Expect(l >= 0 && l <= math.MaxInt32, "rate-limiter.limit: %v: expected a number of requests per second", l)
}

func (c Config) checkAccounts(check *config.Checks) {
	check.Expect(len(c.Anonymous) == 0 || c.hasAccounts(), "anonymous: expected users too, since without users every client has all permissions")
	check.Add(c.lists().Check())
	keys := slices.DeleteFunc([]string{c.TokenSignature, c.SignKey, c.TokenSignatureFile}, func(key string) bool { return key == "" })
	check.Expect(len(keys) <= 1, "token-signature, token-signature-file, sign-key: expected at most one of them")
	check.Expect(!c.EnableTokenAuth || c.hasAccounts(), "enable-token-auth: expected users who can log in")
	check.Expect(c.TokenExpiration >= time.Second, "token-expiration: %v: expected at least 1s", c.TokenExpiration)
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

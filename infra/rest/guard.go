package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/reload"
	"github.com/tenuto-dev/tenuto/infra/rest/internal/access"
)

// guard lets only those pass who are known, to what they may use.
type guard struct {
	accounts *accounts.Accounts
	tokens   *access.Tokens // nil: no tokens
	groups   *access.Groups
	// anonymous are the groups of what needs no user.
	anonymous []string
	log       logging.Logger
}

// newGuard returns nil if everybody may pass.
func (p *Plugin) newGuard() (*guard, error) {
	if !p.cfg.hasAccounts() {
		return nil, nil
	}
	groups := p.routes().perms
	known, err := p.cfg.accounts(groups)
	if err != nil {
		return nil, err
	}
	g := &guard{accounts: known, groups: groups, anonymous: p.cfg.Anonymous, log: p.Log}
	if !p.cfg.EnableTokenAuth {
		return g, nil
	}
	keys, err := p.signingKeys()
	if err != nil {
		return nil, err
	}
	g.tokens = access.NewTokens(keys, p.cfg.TokenExpiration, time.Now)
	return g, p.Register(p.String(), g.endpoints()...)
}

// signingKeys returns the keys of tokens as they are at any time, nil if there
// are none.
func (p *Plugin) signingKeys() (func() [][]byte, error) {
	if key := p.cfg.TokenSignature + p.cfg.SignKey; key != "" { // one of them
		return func() [][]byte { return [][]byte{[]byte(key)} }, nil
	}
	file := p.cfg.TokenSignatureFile
	if file == "" {
		return nil, nil
	}
	load := func() ([][]byte, error) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("token-signature-file: %w", err)
		}
		keys := bytes.Fields(data)
		short := func(key []byte) bool { return len(key) < minKey }
		if len(keys) == 0 || slices.ContainsFunc(keys, short) {
			return nil, fmt.Errorf("token-signature-file: %s: expected keys of %d bytes or more, one a line, such as openssl rand -hex 32 prints", file, minKey)
		}
		return keys, nil
	}
	live, err := reload.Load([]string{file}, load, reload.Options{Changed: func(err error) {
		if err != nil {
			p.Log.Warn("the keys that sign tokens have changed and cannot be used; those from before stay", "error", err)
			return
		}
		p.Log.Info("the keys that sign tokens were read again", "file", file)
	}})
	if err != nil {
		return nil, err
	}
	return live.Get, nil
}

func (c Config) accounts(groups *access.Groups) (*accounts.Accounts, error) {
	for i, u := range c.Users {
		if err := addPatterns(groups, fmt.Sprintf("users[%d].permissions", i), u.Permissions); err != nil {
			return nil, err
		}
	}
	if err := addPatterns(groups, "anonymous", c.Anonymous); err != nil {
		return nil, err
	}
	return c.lists().Accounts(access.Everything)
}

// addPatterns makes groups of those permissions that are endpoints, such as
// "PUT /log/{logger}/{level}".
func addPatterns(groups *access.Groups, key string, permissions []string) error {
	for i, permission := range permissions {
		if !strings.Contains(permission, "/") {
			continue
		}
		if err := groups.Add(permission, permission); err != nil {
			return fmt.Errorf("%s[%d]: %w", key, i, err)
		}
	}
	return nil
}

var (
	// errStranger is that of credentials that are not right.
	errStranger = errors.New("expected a known user and password")
	// errNobody is that of a request without credentials.
	errNobody = fmt.Errorf("%w", errStranger)
)

func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.tokens != nil && (r.URL.Path == loginPath || r.URL.Path == authenticatePath) {
			next.ServeHTTP(w, r)
			return
		}
		account, err := g.who(r)
		if err == nil { // in place: what counts requests looks at the same one for the pattern
			*r = *r.WithContext(context.WithValue(r.Context(), userKey{}, account.Name))
		}
		if (err == nil || errors.Is(err, errNobody)) && g.allow(g.anonymous, r) {
			next.ServeHTTP(w, r)
			return
		}
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		if !g.groups.Allow(account.Permissions, r) && (g.tokens == nil || r.URL.Path != logoutPath) {
			WriteError(w, http.StatusForbidden, fmt.Errorf("user %q may not %s %s; permissions that include it: %s (users[].permissions in http.conf)",
				account.Name, r.Method, r.URL.Path, strings.Join(g.groups.Of(r), ", ")))
			return
		}
		if ShowSecrets(r) && !maySeeSecrets(account.Permissions) {
			WriteError(w, http.StatusForbidden, errSecrets(account.Name))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// who returns the account a request comes from.
func (g *guard) who(r *http.Request) (*accounts.Account, error) {
	if user, password, ok := r.BasicAuth(); ok {
		return g.login(r, user, password)
	}
	token := g.token(r)
	switch {
	case token == "" && r.Header.Get("Authorization") != "":
		return nil, errStranger
	case token == "":
		return nil, errNobody
	}
	user, err := g.tokens.Check(token)
	if err != nil {
		return nil, err
	}
	if account := g.accounts.Lookup(user); account != nil {
		return account, nil
	}
	return nil, access.ErrToken // the user was removed since
}

// token returns the token of a request, as "Authorization: Bearer" or a cookie.
func (g *guard) token(r *http.Request) string {
	if g.tokens == nil {
		return ""
	}
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") { // the name of the scheme has no case (RFC 9110, 11.1)
		return strings.TrimSpace(token)
	}
	if c, err := r.Cookie(cookieName); err == nil {
		return c.Value
	}
	return ""
}

// login checks a password.
func (g *guard) login(r *http.Request, user, password string) (*accounts.Account, error) {
	account, err := g.accounts.Check(r.Context(), user, password)
	if err != nil {
		return nil, err
	}
	if account == nil { // no flood of logs: comparing is slow
		g.log.Warn("wrong user or password for the HTTP server", "user", user, "remote", r.RemoteAddr)
		return nil, errStranger
	}
	return account, nil
}

// refuse asks for credentials; a browser is shown where to give them.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if g.tokens != nil && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Redirect(w, r, loginPath, http.StatusSeeOther)
		return
	}
	w.Header().Add("WWW-Authenticate", `Basic realm="agent", charset="UTF-8"`)
	if g.tokens != nil {
		w.Header().Add("WWW-Authenticate", `Bearer realm="agent"`)
	}
	WriteError(w, http.StatusUnauthorized, err)
}

// warnOfUnknown logs permissions that no endpoint belongs to: the user has less
// rights than meant.
func (p *Plugin) warnOfUnknown() {
	groups := p.routes().perms
	check := func(user string, permissions []string) {
		for _, permission := range permissions {
			if !groups.Known(permission) {
				p.Log.Warn("a permission in http.conf is of no endpoint", "user", user, "permission", permission,
					"known", strings.Join(groups.Names(), ", "))
			}
		}
	}
	for _, u := range p.cfg.Users {
		check(u.Name, u.Permissions)
	}
	check("anonymous", p.cfg.Anonymous)
}

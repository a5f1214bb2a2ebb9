package rest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/rest/internal/access"
)

// guard lets only those pass who are known, to what they may use.
type guard struct {
	accounts *access.Accounts
	tokens   *access.Tokens // nil: no tokens
	groups   *access.Groups
	log      logging.Logger
}

// newGuard returns nil if everybody may pass.
func (p *Plugin) newGuard() (*guard, error) {
	if !p.cfg.hasAccounts() {
		return nil, nil
	}
	groups := p.routes().perms
	accounts, err := p.cfg.accounts(groups)
	if err != nil {
		return nil, err
	}
	g := &guard{accounts: accounts, groups: groups, log: p.Log}
	if !p.cfg.EnableTokenAuth {
		return g, nil
	}
	key := []byte(p.cfg.TokenSignature + p.cfg.SignKey) // one of them
	if file := p.cfg.TokenSignatureFile; file != "" {
		if key, err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("token-signature-file: %w", err)
		}
		if key = bytes.TrimSpace(key); len(key) < minKey {
			return nil, fmt.Errorf("token-signature-file: %s: expected %d bytes or more, such as openssl rand -hex 32 prints", file, minKey)
		}
	}
	g.tokens = access.NewTokens(key, p.cfg.TokenExpiration, time.Now)
	return g, p.Register(p.String(), g.endpoints()...)
}

func (c Config) accounts(groups *access.Groups) (*access.Accounts, error) {
	var all []access.Account
	for i, entry := range c.ClientBasicAuth {
		user, password, _ := strings.Cut(entry, ":")
		hash, err := access.Hash(password, c.PasswordHashCost)
		if err != nil {
			return nil, fmt.Errorf("client-basic-auth[%d]: %w", i, err)
		}
		all = append(all, access.Account{Name: user, Hash: hash, Groups: []string{access.Everything}})
	}
	for i, u := range c.Users {
		hash, err := access.Hash(u.PasswordHash+u.Password, c.PasswordHashCost) // one of them
		if err != nil {
			return nil, fmt.Errorf("users[%d]: %w", i, err)
		}
		for j, permission := range u.Permissions {
			if !strings.Contains(permission, "/") {
				continue
			}
			if err := groups.Add(permission, permission); err != nil { // an endpoint is a group of itself
				return nil, fmt.Errorf("users[%d].permissions[%d]: %w", i, j, err)
			}
		}
		all = append(all, access.Account{Name: u.Name, Hash: hash, Groups: u.Permissions})
	}
	return access.NewAccounts(all)
}

// errStranger is that of a request without credentials.
var errStranger = errors.New("expected a known user and password")

func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.tokens != nil && (r.URL.Path == loginPath || r.URL.Path == authenticatePath) {
			next.ServeHTTP(w, r)
			return
		}
		account, err := g.who(r)
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		if !g.groups.Allow(account.Groups, r) && (g.tokens == nil || r.URL.Path != logoutPath) {
			WriteError(w, http.StatusForbidden, fmt.Errorf("user %q may not %s %s; permissions that include it: %s (users[].permissions in http.conf)",
				account.Name, r.Method, r.URL.Path, strings.Join(g.groups.Of(r), ", ")))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// who returns the account a request comes from.
func (g *guard) who(r *http.Request) (*access.Account, error) {
	if user, password, ok := r.BasicAuth(); ok {
		return g.login(r, user, password)
	}
	token := g.token(r)
	if token == "" {
		return nil, errStranger
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
func (g *guard) login(r *http.Request, user, password string) (*access.Account, error) {
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
	for _, u := range p.cfg.Users {
		for _, permission := range u.Permissions {
			if !groups.Known(permission) {
				p.Log.Warn("a permission in http.conf is of no endpoint", "user", u.Name, "permission", permission,
					"known", strings.Join(groups.Names(), ", "))
			}
		}
	}
}

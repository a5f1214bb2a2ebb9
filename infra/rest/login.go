package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
)

// cookieName is the cookie that holds the token of a browser.
const cookieName = "tenuto-rest-auth"

const (
	loginPath        = "/auth/login"
	authenticatePath = "/auth/authenticate"
	logoutPath       = "/auth/logout"
)

// maxLogin is the maximum size of a login request, in bytes.
const maxLogin = 16 << 10

// loginPage is the form; its arguments are an error, and the page to show after the login.
const loginPage = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Log in</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>body { font: 15px/1.5 system-ui, sans-serif; max-width: 20rem; margin: 4rem auto; padding: 0 1rem } h1 { font-size: 20px }
input { font: inherit; width: 100%%; box-sizing: border-box; padding: .3rem .5rem } button { font: inherit; padding: .3rem 1rem }</style>
</head><body>
<h1>Log in to the agent</h1>
<form method="post" action="/auth/authenticate">
%s<input type="hidden" name="next" value="%s">
<p><label>User <input name="username" autocomplete="username" autofocus required></label></p>
<p><label>Password <input name="password" type="password" autocomplete="current-password" required></label></p>
<p><button>Log in</button></p>
</form></body></html>
`

// credentials is the body of a login request.
type credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// granted is the response to a login.
type granted struct {
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

func (g *guard) endpoints() []Endpoint {
	return []Endpoint{
		{Path: loginPath, Handler: g.form, Doc: "form to log in with a browser; ?next=PATH for the page to show then"},
		{Path: loginPath, Methods: []string{http.MethodPost}, Handler: g.grant, Response: granted{},
			Doc: `body {"username": "...", "password": "..."}; returns a token for the header Authorization: Bearer TOKEN, and its expiry`},
		{Path: authenticatePath, Methods: []string{http.MethodPost}, Handler: g.authenticate, Doc: "submitted by the form; the token becomes a cookie"},
		{Path: logoutPath, Methods: []string{http.MethodPost}, Handler: g.logout, Doc: "revokes the token of the request"},
	}
}

func (g *guard) form(w http.ResponseWriter, r *http.Request) {
	writeForm(w, http.StatusOK, "", r.URL.Query().Get(nextParameter))
}

// writeForm responds with the form, with an error if it is not empty.
func writeForm(w http.ResponseWriter, status int, problem, next string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("X-Frame-Options", "DENY")
	w.WriteHeader(status)
	if problem != "" {
		problem = `<p role="alert"><b>` + html.EscapeString(problem) + "</b></p>\n"
	}
	_, _ = fmt.Fprintf(w, loginPage, problem, html.EscapeString(localPath(next))) // fails only if the client has disconnected
}

// nextParameter is the parameter of the form with the page to show after the login.
const nextParameter = "next"

// localPath returns a path of this server, "/" instead of the address of another one.
func localPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.ContainsAny(path, "\\\t\r\n") {
		return "/"
	}
	return u.EscapedPath()
}

func (g *guard) grant(w http.ResponseWriter, r *http.Request) {
	var c credentials
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLogin)).Decode(&c); err != nil {
		WriteError(w, http.StatusBadRequest, fmt.Errorf(`expected {"username": "...", "password": "..."}: %w`, err))
		return
	}
	account, err := g.login(r, c.Username, c.Password)
	if err != nil {
		if !tooMany(w, err) {
			WriteError(w, http.StatusUnauthorized, err)
		}
		return
	}
	token, err := g.issue(account)
	if err != nil {
		WriteError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	WriteJSON(w, http.StatusOK, token)
}

func (g *guard) authenticate(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	if err := r.ParseForm(); err != nil {
		WriteError(w, http.StatusBadRequest, fmt.Errorf("expected a form with username and password: %w", err))
		return
	}
	account, err := g.login(r, r.PostForm.Get("username"), r.PostForm.Get("password"))
	switch {
	case err == nil:
	case tooMany(w, err):
		return
	case errors.Is(err, errCredentials) && acceptsHTML(r):
		writeForm(w, http.StatusUnauthorized, "Unknown user or wrong password.", r.PostForm.Get(nextParameter))
		return
	default:
		WriteError(w, http.StatusUnauthorized, err)
		return
	}
	token, err := g.issue(account)
	if err != nil {
		WriteError(w, http.StatusInternalServerError, err)
		return
	}
	http.SetCookie(w, cookie(r, token.Token, token.Expires))
	http.Redirect(w, r, localPath(r.PostForm.Get(nextParameter)), http.StatusSeeOther)
}

// issue returns a new token of a user.
func (g *guard) issue(account *accounts.Account) (granted, error) {
	token, expires, err := g.tokens.Issue(account.Name)
	return granted{token, expires}, err
}

func (g *guard) logout(w http.ResponseWriter, r *http.Request) {
	if token := g.token(r); token != "" {
		if err := g.tokens.Revoke(token); err != nil {
			WriteError(w, http.StatusUnauthorized, err)
			return
		}
	}
	http.SetCookie(w, cookie(r, "", time.Unix(0, 0)))
	w.WriteHeader(http.StatusNoContent)
}

// cookie returns the cookie of a token, which is sent to this server only, is
// hidden from scripts, and is not sent with requests from other web sites.
func cookie(r *http.Request, token string, expires time.Time) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: token, Path: "/", Expires: expires,
		Secure: r.TLS != nil, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/crypto/bcrypt"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

const cheap = "password-hash-cost: 4\n"

func hash(t *testing.T, password string) string {
	t.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	infratest.Fatal(t, err)
	return string(h)
}

func as(user, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(user, password) }
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "bearer "+token) }
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	p := start(t, cheap+fmt.Sprintf(`
client-basic-auth: ['root:%s']
users:
- {name: viewer, password: v, permissions: [read]}
- {name: logger, password-hash: '%s', permissions: ['PUT /log/{logger}/{level}', typo]}
- {name: thing, password: t, permissions: [things]}
- {name: special, password: s, permissions: [extra]}
- {name: nobody, password: n}
`, hash(t, "r"), hash(t, "l")))
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }
	err := p.Register("things",
		rest.Endpoint{Path: "/log/{logger}/{level}", Methods: []string{"PUT"}, Handler: ok},
		rest.Endpoint{Path: "/thing/{name}", Handler: ok, Groups: []string{"extra"}})
	infratest.Fatal(t, err)
	for _, test := range []struct {
		user, password string
		put, get       int
	}{
		{"root", "r", 200, 200}, {"viewer", "v", 403, 200}, {"logger", "l", 200, 403}, {"thing", "t", 200, 200},
		{"special", "s", 403, 200}, {"nobody", "n", 403, 403}, {"viewer", "x", 401, 401}, {"admin", "ligato123", 401, 401},
	} {
		put, body := do(t, nil, "PUT", p.URL()+"/log/default/debug", as(test.user, test.password))
		get, _ := do(t, nil, "GET", p.URL()+"/thing/x", as(test.user, test.password))
		if put.StatusCode != test.put || get.StatusCode != test.get {
			t.Errorf("%s: PUT %d %s, GET %d", test.user, put.StatusCode, body, get.StatusCode)
		}
		if test.put == 403 && !strings.Contains(body, "may not PUT /log/default/debug; permissions that include it: all, things") {
			t.Errorf("%s: got %s", test.user, body)
		}
	}
}

func TestTokenLogin(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	secret := strings.Repeat("k", 32)
	infratest.Fatal(t, os.WriteFile(key, []byte(secret+"\n"), 0o600))
	p := start(t, cheap+"enable-token-auth: true\nusers: [{name: a, password: p, permissions: [read]}]\ntoken-signature-file: "+key)
	login := func(body string) (*http.Response, string) {
		return do(t, nil, "POST", p.URL()+"/auth/login", func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(body)) })
	}
	for body, status := range map[string]int{`{"username":"a","password":"x"}`: 401, `{"username":"b","password":"p"}`: 401, `{`: 400, `"` + strings.Repeat("x", 20<<10) + `"`: 413} {
		if resp, text := login(body); resp.StatusCode != status {
			t.Errorf("%.40s: %d %s", body, resp.StatusCode, text)
		}
	}
	var got struct{ Token string }
	resp, text := login(`{"username":"a","password":"p"}`)
	if err := json.Unmarshal([]byte(text), &got); err != nil || resp.StatusCode != 200 {
		t.Fatal(resp.Status, text, err)
	}
	sign := func(user string, expires time.Time) string {
		s, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{Subject: user, ID: "1", ExpiresAt: jwt.NewNumericDate(expires)}).SignedString([]byte(secret))
		infratest.Fatal(t, err)
		return s
	}
	check := func(what, token, method, path string, status int, words string) {
		t.Helper()
		if resp, text := do(t, nil, method, p.URL()+path, bearer(token)); resp.StatusCode != status || !strings.Contains(text, words) {
			t.Errorf("%s: %d %s", what, resp.StatusCode, text)
		}
	}
	check("a token", got.Token, "GET", "/info/version", 200, "App")
	check("what it is not for", got.Token, "PUT", "/info/version", 403, "may not")
	check("no token", "", "GET", "/info/version", 401, "expected a known user")
	check("an expired token", sign("a", time.Now().Add(-time.Minute)), "GET", "/info/version", 401, "has expired")
	check("one of a user that is no more", sign("gone", time.Now().Add(time.Hour)), "GET", "/info/version", 401, "invalid token")
	check("one of another key", got.Token[:len(got.Token)-5]+"AAAAA", "GET", "/info/version", 401, "invalid token")
	check("logging out", got.Token, "POST", "/auth/logout", 204, "")
	check("after that", got.Token, "GET", "/info/version", 401, "logged out")
	check("a stranger who logs out", "", "POST", "/auth/logout", 401, "")
}

// The key that signs tokens can be replaced while the server runs; tokens of the
// old one are good until it is gone.
func TestKeyOfTokensIsReplaced(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	write := func(keys string) {
		t.Helper()
		infratest.Fatal(t, os.WriteFile(file, []byte(keys), 0o600))
	}
	first, second := strings.Repeat("1", 32), strings.Repeat("2", 32)
	write(first + "\n")
	p := start(t, cheap+"enable-token-auth: true\nusers: [{name: a, password: p, permissions: [read]}]\ntoken-signature-file: "+file)
	login := func() string {
		t.Helper()
		_, text := do(t, nil, "POST", p.URL()+"/auth/login", func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"username":"a","password":"p"}`)) })
		var got struct{ Token string }
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(text, err)
		}
		return got.Token
	}
	status := func(token string) int {
		t.Helper()
		resp, _ := do(t, nil, "GET", p.URL()+"/info/version", bearer(token))
		return resp.StatusCode
	}
	signedBy := func(token string) string {
		_, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return []byte(second), nil })
		if err == nil {
			return second
		}
		return first
	}
	old := login()
	write(second + "\n" + first + "\n")
	renewed := login()
	for signedBy(renewed) != second { // until the file is looked at again
		renewed = login()
	}
	if status(old) != 200 || status(renewed) != 200 {
		t.Errorf("while both keys are there: %d, %d", status(old), status(renewed))
	}
	write(second + "\n")
	for status(old) != 401 {
		if t.Context().Err() != nil {
			t.Fatal("a token of the key that is gone is good")
		}
	}
	if status(renewed) != 200 {
		t.Error("a token of the key that stayed is not good")
	}
	write("short\n")
	c := rest.NewPlugin(local(cheap + "enable-token-auth: true\nusers: [{name: a, password: p}]\ntoken-signature-file: " + file))
	if err := agenttest.New(t, agent.AllPlugins(c)).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "expected keys of 32 bytes or more") {
		t.Errorf("got %v", err)
	}
}

func TestBrowserLogin(t *testing.T) {
	t.Parallel()
	p := start(t, cheap+"enable-token-auth: true\nusers: [{name: a, password: p, permissions: [all]}]")
	jar, err := cookiejar.New(nil)
	infratest.Fatal(t, err)
	browser := &http.Client{Jar: jar}
	html := func(r *http.Request) { r.Header.Set("Accept", "text/html") }
	if resp, page := do(t, browser, "GET", p.URL()+"/", html); resp.StatusCode != 200 || resp.Request.URL.Path != "/auth/login" || !strings.Contains(page, "<form") {
		t.Errorf("a stranger sees %s\n%s", resp.Request.URL, page)
	}
	wrong := url.Values{"username": {"a"}, "password": {"<x>"}, "next": {"/info/version"}}.Encode()
	for accept, words := range map[string]string{"text/html": `value="/info/version"`, "*/*": `"error"`} {
		resp, page := do(t, browser, "POST", p.URL()+"/auth/authenticate", func(r *http.Request) {
			r.Header.Set("Accept", accept)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Body = io.NopCloser(strings.NewReader(wrong))
		})
		if resp.StatusCode != 401 || !strings.Contains(page, words) || (accept == "text/html") != strings.Contains(page, "wrong password") {
			t.Errorf("with a wrong password, %s: %s\n%s", accept, resp.Status, page)
		}
	}
	form := url.Values{"username": {"a"}, "password": {"p"}}.Encode()
	resp, page := do(t, browser, "POST", p.URL()+"/auth/authenticate", func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body = io.NopCloser(strings.NewReader(form))
	})
	if resp.StatusCode != 200 || resp.Request.URL.Path != "/" || !strings.Contains(page, "<title>") {
		t.Errorf("after the login: %s %s\n%s", resp.Status, resp.Request.URL, page)
	}
	if resp, _ := do(t, browser, "POST", p.URL()+"/auth/logout", nil); resp.StatusCode != 204 {
		t.Errorf("logout: %s", resp.Status)
	}
	if resp, _ := do(t, browser, "GET", p.URL()+"/info/version", nil); resp.StatusCode != 401 {
		t.Errorf("after the logout: %s", resp.Status)
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	echo := func(conf string) *rest.Plugin {
		p := start(t, "max-body-bytes: 10\n"+conf)
		if err := p.RegisterHTTPHandler("/echo", plain(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				rest.WriteError(w, http.StatusBadRequest, err)
				return
			}
			_, _ = w.Write(body)
		}), "POST"); err != nil {
			t.Fatal(err)
		}
		return p
	}
	patient, impatient := echo(""), echo("read-timeout: 50ms\n")
	for _, test := range []struct {
		p                *rest.Plugin
		head, body, want string
	}{
		{patient, "Content-Length: 10", "0123456789", "HTTP/1.1 200"},
		{patient, "Content-Length: 11", "", "HTTP/1.1 413"}, // refused before it is sent
		{patient, "Transfer-Encoding: chunked", "b\r\n0123456789a\r\n0\r\n\r\n", "HTTP/1.1 413"},
		{impatient, "Content-Length: 10", "01234", "HTTP/1.1 408"}, // the rest does not come
	} {
		p := test.p
		conn, err := net.Dial("tcp", p.Addr().String())
		infratest.Fatal(t, err)
		defer conn.Close()
		fmt.Fprintf(conn, "POST /echo HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n%s", test.head, test.body)
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.HasPrefix(line, test.want) {
			t.Errorf("%s: got %q, %v", test.head, line, err)
		}
	}
}

// A client that sends no header is disconnected; meanwhile others are served, and no more
// connections are open than the limit.
func TestManySlowConnections(t *testing.T) {
	t.Parallel()
	p := start(t, "max-connections: 50\nread-header-timeout: 1s\n")
	for range 500 {
		conn, err := net.Dial("tcp", p.Addr().String())
		infratest.Fatal(t, err)
		defer conn.Close()
		fmt.Fprint(conn, "GET / HT")
	}
	if resp, _ := do(t, nil, "GET", p.URL()+"/info/version", nil); resp.StatusCode != 200 {
		t.Errorf("got %s", resp.Status)
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	p := start(t, "rate-limiter: {limit: 0.001, burst: 2}\n")
	for i, want := range []int{200, 200, 429} {
		resp, body := do(t, nil, "GET", p.URL()+"/info/version", nil)
		if resp.StatusCode != want || want == 429 && (resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "rate-limiter in http.conf")) {
			t.Errorf("request %d: %s %s", i, resp.Status, body)
		}
	}
}

// caller answers with who made the request.
func caller(w http.ResponseWriter, r *http.Request) {
	user, addr := rest.Caller(r)
	_, _ = io.WriteString(w, user+" "+addr)
}

func TestCaller(t *testing.T) {
	t.Parallel()
	p := start(t, cheap+"users: [{name: ann, password: secret, permissions: [all]}]\nanonymous: [info]\n")
	infratest.Fatal(t, p.Register("test", rest.Endpoint{Path: "/caller", Handler: caller, Groups: []string{rest.GroupInfo}}))
	_, anonymous := do(t, nil, "GET", p.URL()+"/caller", nil)
	_, known := do(t, nil, "GET", p.URL()+"/caller", as("ann", "secret"))
	if !strings.HasPrefix(anonymous, " 127.0.0.1:") || !strings.HasPrefix(known, "ann 127.0.0.1:") {
		t.Errorf("the callers are %q and %q", anonymous, known)
	}
}

func TestSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	p := rest.NewPlugin(rest.UseConf(func() rest.Config {
		c := rest.DefaultConfig()
		c.Endpoint, c.Socket, c.Permission = "", path, 0o640
		return c
	}()))
	a := agenttest.Start(t, p)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}}
	if resp, _ := do(t, client, "GET", "http://agent/info/version", nil); resp.StatusCode != 200 {
		t.Errorf("got %s", resp.Status)
	}
	infratest.Fatal(t, p.Register("test", rest.Endpoint{Path: "/caller", Handler: caller}))
	client.Transport.(*http.Transport).DisableKeepAlives = true
	for _, want := range []string{" unix-socket:2", " unix-socket:3"} {
		if _, body := do(t, client, "GET", "http://agent/caller", nil); body != want {
			t.Errorf("the caller is %q, want %q", body, want)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info, err)
	}
	if p.URL() != "" || p.Addr().String() != path {
		t.Errorf("listens on %q %v", p.URL(), p.Addr())
	}
	refused := func(path, want string) {
		t.Helper()
		c := rest.DefaultConfig()
		c.Endpoint, c.Socket = "127.0.0.1:0", path
		err := agenttest.New(t, agent.AllPlugins(rest.NewPlugin(rest.UseConf(c)))).Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	refused(path, "is in use by another process")
	file := filepath.Join(t.TempDir(), "f")
	infratest.Fatal(t, os.WriteFile(file, nil, 0o600))
	refused(file, "is not a socket")
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

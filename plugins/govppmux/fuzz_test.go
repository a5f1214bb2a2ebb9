package govppmux

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Whatever is posted as a command is answered, and the session continues.
func FuzzCommand(f *testing.F) {
	for _, body := range []string{
		`{"vppclicommand": "show version"}`, `{"vppclicommand": "show interface\n\u0000addr"}`, `{"vppclicommand": 1}`, `[]`, `{`, "",
		`{"vppclicommand": "` + strings.Repeat("x", 5000) + `"}`,
	} {
		f.Add(body)
	}
	path := socket(f)
	simulator(f, path)
	p := start(f, path, nil)
	epoch := session(f, p, 0).Epoch
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		p.ServeCommand(w, httptest.NewRequest(http.MethodPost, "/vpp/command", strings.NewReader(body)))
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest && w.Code != http.StatusBadGateway {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
		if s := p.Session(); !s.Up || s.Epoch != epoch {
			t.Errorf("%q: the session is %+v", body, s)
		}
	})
}

package rest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	const everybody, onTheWay, readable = "any client that reaches the HTTP server can change", "is not encrypted", "can read a file with secrets"
	files, _ := certificate(t)
	openKey := filepath.Join(t.TempDir(), "open.pem")
	data, err := os.ReadFile(files.Key)
	if err == nil {
		err = os.WriteFile(openKey, data, 0o600)
	}
	if err == nil {
		err = os.Chmod(openKey, 0o644)
	}
	infratest.Fatal(t, err)
	users := cheap + "users: [{name: a, password: hush-hush, permissions: [%s]}]\n"
	certs := "server-cert-file: " + files.Cert + "\nserver-key-file: "
	for _, test := range []struct {
		conf string
		mode os.FileMode
		want []string
	}{
		{"endpoint: 127.0.0.1:0", 0o644, nil},
		{"endpoint: 0.0.0.0:0", 0o644, []string{everybody}},
		{"endpoint: 0.0.0.0:0\n" + fmt.Sprintf(users, "all"), 0o600, []string{onTheWay}},
		{"endpoint: 0.0.0.0:0\n" + fmt.Sprintf(users, "http") + certs + files.Key, 0o600, nil},
		{"endpoint: 127.0.0.1:0\n" + fmt.Sprintf(users, "al"), 0o644, []string{"unknown permission in http.conf", readable}},
		{"endpoint: 127.0.0.1:0\n" + certs + openKey, 0o600, []string{readable}},
	} {
		file := filepath.Join(t.TempDir(), "http.conf")
		infratest.Fatal(t, os.WriteFile(file, []byte(test.conf), 0o600))
		infratest.Fatal(t, os.Chmod(file, test.mode))
		var out infratest.Buffer
		a := agenttest.New(t, agent.Args("--http-config="+file), agent.AllPlugins(rest.NewPlugin()),
			agent.Logging(logging.NewRegistry(logging.WithWriter(&out), logging.WithColours(false))))
		infratest.Fatal(t, a.Start(t.Context()))
		for _, w := range []string{everybody, onTheWay, readable, "unknown permission"} {
			wanted := strings.Contains(strings.Join(test.want, "\n"), w)
			if got := strings.Contains(out.String(), w); got != wanted {
				t.Errorf("%s\nwarned %q: %v\n%s", test.conf, w, got, out.String())
			}
		}
		if strings.Contains(out.String(), "hush-hush") {
			t.Error("a password is in the log")
		}
	}
}

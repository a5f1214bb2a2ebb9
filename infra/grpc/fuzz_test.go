package grpc

import (
	"encoding/base64"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc/metadata"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/reload"
)

// What is in the file of tokens never panics and is never in an error.
func FuzzTokens(f *testing.F) {
	f.Add("secret\n# comment\nyoung 2999-01-01T00:00:00Z\n")
	f.Add("a b c")
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := parseTokens([]byte(text))
		if (err == nil) != (len(tokens) > 0) {
			t.Errorf("%d tokens, %v", len(tokens), err)
		}
		if word := strings.Fields(text + " x")[0]; err != nil && len(word) > 20 && strings.Contains(err.Error(), word) {
			t.Errorf("the error has a token: %v", err)
		}
	})
}

// A call is rejected without a valid token or password, whatever its metadata,
// and its user is the one with these credentials.
func FuzzCredentials(f *testing.F) {
	const password, token = "correct-horse", "battery-staple"
	cfg := DefaultConfig()
	hash, err := accounts.Hash(password, bcrypt.MinCost)
	infratest.Fatal(f, err)
	cfg.Users = []User{{Name: "a", PasswordHash: string(hash)}, {Name: "b", Token: token}}
	infratest.Fatal(f, cfg.Validate())
	live, err := reload.Load(nil, cfg.users, reload.Options{})
	infratest.Fatal(f, err)
	g := &guard{users: live, now: time.Now, log: logging.NewRegistry(logging.WithWriter(io.Discard)).Logger("fuzz")}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("a:"+password))
	for _, header := range []string{basic, "bearer " + token, "Bearer", "Basic !", "Basic YTpi", "Basic YQ==", "Digest x", " ", "Bearer  " + token} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		account, err := g.who(t.Context(), metadata.Pairs("authorization", header))
		switch {
		case (account == nil) == (err == nil):
			t.Errorf("%q: %v, %v", header, account, err)
		case err != nil:
			return
		}
		_, word, _ := strings.Cut(header, " ")
		if account.Name == "b" && word != token {
			t.Errorf("%q passes as b", header)
		}
		if text, err := base64.StdEncoding.DecodeString(word); account.Name == "a" && (err != nil || string(text) != "a:"+password) {
			t.Errorf("%q passes as a", header)
		}
	})
}

package accounts

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

func TestPasswords(t *testing.T) {
	t.Parallel()
	hash, err := Hash("secret", bcrypt.MinCost)
	infratest.Fatal(t, err)
	if same, err := Hash(string(hash), bcrypt.MinCost); err != nil || string(same) != string(hash) {
		t.Errorf("a hash was hashed: %s, %v", same, err)
	}
	a, err := New([]Account{{Name: "a", Hash: hash}})
	infratest.Fatal(t, err)
	for range 2 { // the second time without bcrypt
		for who, want := range map[[2]string]bool{{"a", "secret"}: true, {"a", "Secret"}: false, {"a", ""}: false, {"b", "secret"}: false, {"", ""}: false} {
			got, err := a.Check(t.Context(), nil, "", who[0], who[1])
			if err != nil || (got != nil) != want {
				t.Errorf("%v: got %v, %v", who, got, err)
			}
		}
	}
	if len(a.proven) != 1 {
		t.Errorf("%d passwords are remembered", len(a.proven))
	}
	for range cap(a.busy) {
		a.busy <- struct{}{}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Check(over, nil, "", "a", "wrong"); !errors.Is(err, context.Canceled) {
		t.Errorf("while all processors are taken: %v", err)
	}
	if got, err := a.Check(over, nil, "", "a", "secret"); got == nil || err != nil {
		t.Errorf("a password that was right before: %v, %v", got, err)
	}
	if _, err := New([]Account{{Name: "a", Hash: hash}, {Name: "a", Hash: hash}}); err == nil {
		t.Error("two users of one name are no error")
	}
	if _, err := New([]Account{{Name: "a", Hash: []byte("x")}}); err == nil {
		t.Error("a broken hash is no error")
	}
}

// The servers test what they say about their lists; here is who has an account
// then.
func TestAccountsOfLists(t *testing.T) {
	t.Parallel()
	hash, err := Hash("of b", bcrypt.MinCost)
	infratest.Fatal(t, err)
	type user struct{ name, password string }
	lists := func(basic []string, users ...user) Lists {
		return NewLists(basic, users, func(u user) User {
			return User{Name: u.name, Password: u.password, Permissions: []string{"some"}, Check: func(string) error { return nil }}
		}, bcrypt.MinCost)
	}
	l := lists([]string{"a:of:a", "b:" + string(hash)}, user{"c", "of c"}, user{"token", ""})
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	a, err := l.Accounts("all")
	infratest.Fatal(t, err)
	for name, want := range map[string]struct{ password, permission string }{"a": {"of:a", "all"}, "b": {"of b", "all"}, "c": {"of c", "some"}} {
		got, err := a.Check(t.Context(), nil, "", name, want.password)
		if got == nil || err != nil || len(got.Permissions) != 1 || got.Permissions[0] != want.permission {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	if got := a.Lookup("token"); got != nil {
		t.Errorf("a user without a password has the account %+v", got)
	}
	if a, err := lists(nil, user{"token", ""}).Accounts("all"); a != nil || err != nil {
		t.Errorf("without passwords: %v, %v", a, err)
	}
}

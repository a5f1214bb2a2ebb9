package accounts

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

func TestPasswords(t *testing.T) {
	t.Parallel()
	hash, err := Hash("secret", bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := Hash(string(hash), bcrypt.MinCost); err != nil || string(same) != string(hash) {
		t.Errorf("a hash was hashed: %s, %v", same, err)
	}
	a, err := New([]Account{{Name: "a", Hash: hash}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time without bcrypt
		for who, want := range map[[2]string]bool{{"a", "secret"}: true, {"a", "Secret"}: false, {"a", ""}: false, {"b", "secret"}: false, {"", ""}: false} {
			got, err := a.Check(t.Context(), who[0], who[1])
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
	if _, err := a.Check(over, "a", "wrong"); !errors.Is(err, context.Canceled) {
		t.Errorf("while all processors are taken: %v", err)
	}
	if got, err := a.Check(over, "a", "secret"); got == nil || err != nil {
		t.Errorf("a password that was right before: %v, %v", got, err)
	}
	if _, err := New([]Account{{Name: "a", Hash: hash}, {Name: "a", Hash: hash}}); err == nil {
		t.Error("two users of one name are no error")
	}
	if _, err := New([]Account{{Name: "a", Hash: []byte("x")}}); err == nil {
		t.Error("a broken hash is no error")
	}
}

package accounts

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// A client that sends wrong passwords is delayed, longer each time; others are not.
func TestAttempts(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	a := NewAttempts(func() time.Time { return now })
	hash, err := Hash("secret", bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	known, err := New([]Account{{Name: "a", Hash: hash}})
	if err != nil {
		t.Fatal(err)
	}
	wait := func(client string) time.Duration {
		_, err := known.Check(t.Context(), a, client, "a", "wrong")
		var many *TooManyError
		if !errors.As(err, &many) {
			if err != nil {
				t.Fatal(err)
			}
			return 0
		}
		return many.Wait
	}
	const guesser = "10.0.0.1:4000"
	for i := range freeAttempts {
		if d := wait(guesser); d != 0 {
			t.Fatalf("attempt %d waits for %v", i, d)
		}
	}
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		want *= time.Second
		if d := wait(fmt.Sprintf("10.0.0.1:%d", want)); d != want { // another port is the same client
			t.Fatalf("waits for %v, expected %v", d, want)
		}
		if d := wait("10.0.0.2:4000"); d != 0 {
			t.Fatalf("another client waits for %v", d)
		}
		a.succeeded(Client("10.0.0.2:4000"))
		now = now.Add(want)
		if d := wait(guesser); d != 0 {
			t.Fatalf("waits for %v after the delay", d)
		}
	}
	now = now.Add(forgetAfter + time.Second)
	if d := wait(guesser); d != 0 {
		t.Fatalf("waits for %v after a long time", d)
	}
	for i := range 2 * maxClients {
		_ = a.begin(fmt.Sprint(i))
	}
	if len(a.clients) > maxClients+1 {
		t.Errorf("%d clients", len(a.clients))
	}
}

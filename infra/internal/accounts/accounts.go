// Package accounts holds the accounts of an agent's servers and checks their
// passwords. It stores hashes only.
package accounts

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// MaxPassword is the maximum length of a password in bytes, a limit of bcrypt.
const MaxPassword = 72

// Account is an account of a server.
type Account struct {
	Name string
	// Hash is the bcrypt hash of the password.
	Hash []byte
	// Permissions are the names of the account's permissions.
	Permissions []string
}

// IsHash reports whether a text is a bcrypt hash rather than a password.
func IsHash(s string) bool {
	_, err := bcrypt.Cost([]byte(s))
	return err == nil && len(s) == 60
}

// Hash returns the hash of a password; a text that is a hash is returned as
// is.
func Hash(password string, cost int) ([]byte, error) {
	if IsHash(password) {
		return []byte(password), nil
	}
	return bcrypt.GenerateFromPassword([]byte(password), cost)
}

// Accounts checks passwords. It may be used concurrently.
type Accounts struct {
	byName map[string]*Account
	// unknown is compared with the password of an unknown user, so that the
	// response time does not reveal which users exist.
	unknown []byte
	// busy limits the number of concurrent comparisons.
	busy chan struct{}

	// key makes the digests in proven useless outside of this process.
	key    []byte
	mu     sync.Mutex
	proven map[string][sha256.Size]byte // by user: digest of the last correct password
}

// New returns the given accounts, which must have different names.
func New(accounts []Account) (*Accounts, error) {
	a := &Accounts{
		byName: map[string]*Account{},
		busy:   make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		key:    make([]byte, sha256.Size),
		proven: map[string][sha256.Size]byte{},
	}
	_, _ = rand.Read(a.key) // never fails
	highest := bcrypt.MinCost
	for i := range accounts {
		account := accounts[i]
		if a.byName[account.Name] != nil {
			return nil, fmt.Errorf("duplicate user %q", account.Name)
		}
		cost, err := bcrypt.Cost(account.Hash)
		if err != nil {
			return nil, fmt.Errorf("user %q: password hash: %w", account.Name, err)
		}
		highest = max(highest, cost)
		a.byName[account.Name] = &account
	}
	var err error
	if a.unknown, err = bcrypt.GenerateFromPassword([]byte(rand.Text()), highest); err != nil {
		return nil, fmt.Errorf("hash for unknown users: %w", err)
	}
	return a, nil
}

// Lookup returns an account by its name, nil if there is none.
func (a *Accounts) Lookup(name string) *Account { return a.byName[name] }

// Check returns the account of a user whose password is correct, and nil if the
// user is unknown or the password is wrong. It recognises a password that was
// correct before without the cost of bcrypt, and without a delay. The error is the error of the context,
// which limits the wait for a free processor, or a *TooManyError if the client at the remote address has
// sent too many wrong passwords. Without attempts there is no such limit.
func (a *Accounts) Check(ctx context.Context, attempts *Attempts, remote, name, password string) (*Account, error) {
	account := a.byName[name]
	digest := a.digest(name, password)
	if account != nil && a.isProven(name, digest) {
		return account, nil
	}
	client := Client(remote)
	if attempts != nil {
		if err := attempts.begin(client); err != nil {
			return nil, err
		}
	}
	select {
	case a.busy <- struct{}{}:
		defer func() { <-a.busy }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	hash := a.unknown
	if account != nil {
		hash = account.Hash
	}
	if bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil || account == nil {
		return nil, nil
	}
	if attempts != nil {
		attempts.succeeded(client)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.proven[name] = digest
	return account, nil
}

func (a *Accounts) isProven(name string, digest [sha256.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	was, ok := a.proven[name]
	return ok && hmac.Equal(was[:], digest[:])
}

func (a *Accounts) digest(name, password string) (sum [sha256.Size]byte) {
	m := hmac.New(sha256.New, a.key)
	fmt.Fprintf(m, "%d:%s:%s", len(name), name, password)
	copy(sum[:], m.Sum(nil))
	return sum
}

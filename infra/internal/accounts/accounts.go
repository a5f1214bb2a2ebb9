// Package accounts knows who may use the servers of an agent, and checks their
// passwords, of which it has hashes only.
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

// MaxPassword is how long a password may be, in bytes; bcrypt takes no more.
const MaxPassword = 72

// Account is somebody who may use the server.
type Account struct {
	Name string
	// Hash is that of the password, made by bcrypt.
	Hash []byte
	// Permissions are the names of what the account is for.
	Permissions []string
}

// IsHash tells whether a text is a bcrypt hash rather than a password.
func IsHash(s string) bool {
	_, err := bcrypt.Cost([]byte(s))
	return err == nil && len(s) == 60
}

// Hash returns the hash to keep of a password: the text itself if it is one.
func Hash(password string, cost int) ([]byte, error) {
	if IsHash(password) {
		return []byte(password), nil
	}
	return bcrypt.GenerateFromPassword([]byte(password), cost)
}

// Accounts checks passwords. It may be used concurrently.
type Accounts struct {
	byName map[string]*Account
	// nobody is what the password of an unknown user is compared with, so that
	// the time of the answer does not tell which users there are.
	nobody []byte
	// busy bounds the processors that comparing may keep busy.
	busy chan struct{}

	// key makes the digests in proven of no use outside of this process.
	key    []byte
	mu     sync.Mutex
	proven map[string][sha256.Size]byte // by user: digest of the password that was right
}

// New takes the accounts, which must have different names.
func New(accounts []Account) (*Accounts, error) {
	a := &Accounts{
		byName: map[string]*Account{},
		busy:   make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		key:    make([]byte, sha256.Size),
		proven: map[string][sha256.Size]byte{},
	}
	if _, err := rand.Read(a.key); err != nil {
		return nil, fmt.Errorf("random key: %w", err)
	}
	highest := bcrypt.MinCost
	for i := range accounts {
		account := accounts[i]
		if a.byName[account.Name] != nil {
			return nil, fmt.Errorf("user %q is there twice", account.Name)
		}
		cost, err := bcrypt.Cost(account.Hash)
		if err != nil {
			return nil, fmt.Errorf("user %q: password hash: %w", account.Name, err)
		}
		highest = max(highest, cost)
		a.byName[account.Name] = &account
	}
	var err error
	if a.nobody, err = bcrypt.GenerateFromPassword([]byte(rand.Text()), highest); err != nil {
		return nil, fmt.Errorf("hash of nobody: %w", err)
	}
	return a, nil
}

// Lookup returns an account by its name, nil if there is none.
func (a *Accounts) Lookup(name string) *Account { return a.byName[name] }

// Check returns the account of a user whose password it is, and nil if the user
// is not known or the password is wrong. A password that was right once is
// recognised without the cost of bcrypt. The error is that of the context,
// which bounds the waiting for a processor.
func (a *Accounts) Check(ctx context.Context, name, password string) (*Account, error) {
	account := a.byName[name]
	digest := a.digest(name, password)
	if account != nil && a.isProven(name, digest) {
		return account, nil
	}
	select {
	case a.busy <- struct{}{}:
		defer func() { <-a.busy }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	hash := a.nobody
	if account != nil {
		hash = account.Hash
	}
	if bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil || account == nil {
		return nil, nil
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

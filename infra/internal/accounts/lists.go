package accounts

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/config"
)

// Lists are the accounts in the configuration file of a server.
type Lists struct {
	BasicAuth []string // client-basic-auth: each user:password, or user:hash
	Users     []User   // users
	Cost      int      // password-hash-cost: for passwords in clear text
}

// User is an entry of users.
type User struct {
	Name string
	// Password is the password in clear text or its hash, empty if the user has
	// none.
	Password    string
	Permissions []string
	// Check validates the credentials of the user, given the key of the entry.
	Check func(key string) error
}

// NewLists makes lists from the values of client-basic-auth, users (each
// converted by of) and password-hash-cost.
func NewLists[U any](basicAuth []string, users []U, of func(U) User, cost int) Lists {
	l := Lists{BasicAuth: basicAuth, Cost: cost}
	for _, u := range users {
		l.Users = append(l.Users, of(u))
	}
	return l
}

// Check returns the errors in the lists, with the keys of the file.
func (l Lists) Check() error {
	var check config.Checks
	names := map[string]string{}
	name := func(key, name string) {
		first, twice := names[name]
		check.Expect(!twice, "%s: user %q is already in %s", key, name, first)
		names[name] = key
	}
	for i, entry := range l.BasicAuth {
		key := basicAuthKey(i)
		user, password, ok := strings.Cut(entry, ":")
		if !ok || user == "" {
			check.Expect(false, "%s: expected user:password", key)
			continue
		}
		name(key, user)
		check.Add(checkPassword(key, password))
	}
	for i, u := range l.Users {
		key := userKey(i)
		check.Expect(u.Name != "" && !strings.Contains(u.Name, ":"), "%s.name: %q: expected a name without a colon", key, u.Name)
		name(key, u.Name)
		check.Add(u.Check(key))
	}
	check.Expect(l.Cost >= 4 && l.Cost <= 16, "password-hash-cost: %d: expected 4 to 16", l.Cost)
	return check.Err()
}

func basicAuthKey(i int) string { return fmt.Sprintf("client-basic-auth[%d]", i) }

func userKey(i int) string { return fmt.Sprintf("users[%d]", i) }

// CheckPassword validates the password or the hash, whichever is given, of the
// user at key.
func CheckPassword(key, password, hash string) error {
	if hash == "" {
		return checkPassword(key+".password", password)
	}
	if !IsHash(hash) {
		return fmt.Errorf("%s.password-hash: expected a bcrypt hash, as htpasswd -nB prints it", key)
	}
	return nil
}

func checkPassword(key, password string) error {
	if password == "" || len(password) > MaxPassword {
		return fmt.Errorf("%s: expected a password of 1 to %d bytes", key, MaxPassword)
	}
	return nil
}

// Accounts returns the accounts that have a password, nil if there are none.
// The accounts of client-basic-auth have the permissions in everything.
func (l Lists) Accounts(everything ...string) (*Accounts, error) {
	var all []Account
	add := func(key, name, password string, permissions []string) error {
		hash, err := Hash(password, l.Cost)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		all = append(all, Account{Name: name, Hash: hash, Permissions: permissions})
		return nil
	}
	for i, entry := range l.BasicAuth {
		user, password, _ := strings.Cut(entry, ":")
		if err := add(basicAuthKey(i), user, password, everything); err != nil {
			return nil, err
		}
	}
	for i, u := range l.Users {
		if u.Password == "" {
			continue
		}
		if err := add(userKey(i), u.Name, u.Password, u.Permissions); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return New(all)
}

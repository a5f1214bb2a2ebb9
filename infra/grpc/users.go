package grpc

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
)

// User is who may use the server for what, by password or by a token.
type User struct {
	Name         string   `json:"name" desc:"name of the user"`
	PasswordHash string   `json:"password-hash" secret:"true" desc:"bcrypt hash of the password, as htpasswd -nB prints it"`
	Password     string   `json:"password" secret:"true" desc:"the password in clear, instead of its hash"`
	TokenHash    string   `json:"token-hash" secret:"true" desc:"SHA-256 of a token in hexadecimal digits, as printf %s TOKEN | sha256sum prints it, instead of a password"`
	Token        string   `json:"token" secret:"true" desc:"the token in clear, instead of its hash"`
	Permissions  []string `json:"permissions" desc:"services and methods, as ligato.generic.ManagerService and ligato.generic.ManagerService/GetConfig; read (what changes nothing), secrets (to see those in answers), all; empty: none"`
}

func (c Config) checkUsers() error {
	var errs []error
	names := map[string]string{}
	name := func(key, name string) {
		if first, twice := names[name]; twice {
			errs = append(errs, fmt.Errorf("%s: user %q is in %s already", key, name, first))
		}
		names[name] = key
	}
	for i, entry := range c.ClientBasicAuth {
		key := fmt.Sprintf("client-basic-auth[%d]", i)
		user, password, ok := strings.Cut(entry, ":")
		if !ok || user == "" {
			errs = append(errs, fmt.Errorf("%s: expected user:password", key))
			continue
		}
		name(key, user)
		errs = append(errs, checkPassword(key, password))
	}
	for i, u := range c.Users {
		key := fmt.Sprintf("users[%d]", i)
		if u.Name == "" || strings.Contains(u.Name, ":") {
			errs = append(errs, fmt.Errorf("%s.name: %q: expected a name without a colon", key, u.Name))
		}
		name(key, u.Name)
		errs = append(errs, u.check(key))
	}
	if c.PasswordHashCost < 4 || c.PasswordHashCost > 16 {
		errs = append(errs, fmt.Errorf("password-hash-cost: %d: expected 4 to 16", c.PasswordHashCost))
	}
	return errors.Join(errs...)
}

func (u User) check(key string) error {
	given := 0
	for _, text := range []string{u.PasswordHash, u.Password, u.TokenHash, u.Token} {
		if text != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return fmt.Errorf("%s: expected one of password-hash, password, token-hash and token", key)
	case u.Password != "":
		return checkPassword(key+".password", u.Password)
	case u.PasswordHash != "" && !accounts.IsHash(u.PasswordHash):
		return fmt.Errorf("%s.password-hash: expected a bcrypt hash, as htpasswd -nB prints it", key)
	case u.TokenHash != "":
		if sum, err := hex.DecodeString(u.TokenHash); err != nil || len(sum) != len(secret{}.sum) {
			return fmt.Errorf("%s.token-hash: expected 64 hexadecimal digits, as sha256sum prints them", key)
		}
	case u.Token != "":
		return checkToken(key+".token", u.Token)
	}
	return nil
}

func checkPassword(key, password string) error {
	if password == "" || len(password) > accounts.MaxPassword {
		return fmt.Errorf("%s: expected a password of 1 to %d bytes", key, accounts.MaxPassword)
	}
	return nil
}

func checkToken(key, token string) error {
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return fmt.Errorf("%s: expected text without blanks", key)
	}
	return nil
}

// accounts are those with passwords, nil if there are none.
func (c Config) accounts() (*accounts.Accounts, error) {
	var all []accounts.Account
	add := func(key, name, password string, permissions []string) error {
		hash, err := accounts.Hash(password, c.PasswordHashCost)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		all = append(all, accounts.Account{Name: name, Hash: hash, Permissions: permissions})
		return nil
	}
	for i, entry := range c.ClientBasicAuth {
		user, password, _ := strings.Cut(entry, ":")
		if err := add(fmt.Sprintf("client-basic-auth[%d]", i), user, password, []string{permAll}); err != nil {
			return nil, err
		}
	}
	for i, u := range c.Users {
		if u.PasswordHash+u.Password == "" {
			continue // has a token
		}
		if err := add(fmt.Sprintf("users[%d]", i), u.Name, u.PasswordHash+u.Password, u.Permissions); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return accounts.New(all)
}

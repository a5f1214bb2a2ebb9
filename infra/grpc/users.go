package grpc

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
)

// User is a user of the server with a password or a token.
type User struct {
	Name         string   `json:"name" desc:"name of the user"`
	PasswordHash string   `json:"password-hash" secret:"true" desc:"bcrypt hash of the password, as htpasswd -nB prints it"`
	Password     string   `json:"password" secret:"true" desc:"the password in clear text, instead of its hash"`
	TokenHash    string   `json:"token-hash" secret:"true" desc:"SHA-256 of a token in hexadecimal digits, as printf %s TOKEN | sha256sum prints it, instead of a password"`
	Token        string   `json:"token" secret:"true" desc:"the token in clear text, instead of its hash"`
	Permissions  []string `json:"permissions" desc:"services and methods, such as ligato.generic.ManagerService and ligato.generic.ManagerService/GetConfig; read (methods that change nothing), secrets (replies with secrets), all; empty: none"`
}

// lists returns the accounts of the configuration file.
func (c Config) lists() accounts.Lists {
	return accounts.NewLists(c.ClientBasicAuth, c.Users, User.account, c.PasswordHashCost)
}

func (u User) account() accounts.User {
	return accounts.User{Name: u.Name, Password: u.PasswordHash + u.Password, Permissions: u.Permissions, Check: u.check}
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
	case u.TokenHash != "":
		if sum, err := hex.DecodeString(u.TokenHash); err != nil || len(sum) != len(secret{}.sum) {
			return fmt.Errorf("%s.token-hash: expected 64 hexadecimal digits, as sha256sum prints them", key)
		}
		return nil
	case u.Token != "":
		return checkToken(key+".token", u.Token)
	}
	return accounts.CheckPassword(key, u.Password, u.PasswordHash)
}

func checkToken(key, token string) error {
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return fmt.Errorf("%s: expected text without blanks", key)
	}
	return nil
}

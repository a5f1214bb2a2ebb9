package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Token is what the agent knows a user by for a while, see Options.Token.
type Token struct {
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

// Login asks for a token with the user and the password of Options.BasicAuth.
func (s AuthService) Login(ctx context.Context) (t Token, err error) {
	user, password, ok := strings.Cut(s.c.opts.BasicAuth, ":")
	if !ok {
		return t, errors.New("logging in needs a user and a password")
	}
	return send[Token](ctx, s.c, "/auth/login", map[string]string{"username": user, "password": password})
}

// Logout makes the token of Options.Token useless.
func (s AuthService) Logout(ctx context.Context) error {
	if s.c.opts.Token == "" {
		return errors.New("logging out needs a token")
	}
	_, err := s.c.do(ctx, http.MethodPost, "/auth/logout", nil, nil)
	return err
}

// authorize adds who asks.
func (c *Client) authorize(req *http.Request) {
	if user, password, ok := strings.Cut(c.opts.BasicAuth, ":"); ok {
		req.SetBasicAuth(user, password)
	} else if c.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.opts.Token)
	}
}

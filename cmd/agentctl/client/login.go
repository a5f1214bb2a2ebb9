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
func (c *Client) Login(ctx context.Context) (t Token, err error) {
	user, password, ok := strings.Cut(c.opts.BasicAuth, ":")
	if !ok {
		return t, errors.New("logging in needs a user and a password")
	}
	return send[Token](ctx, c, "/auth/login", map[string]string{"username": user, "password": password})
}

// Logout makes the token of Options.Token useless.
func (c *Client) Logout(ctx context.Context) error {
	if c.opts.Token == "" {
		return errors.New("logging out needs a token")
	}
	_, err := c.do(ctx, http.MethodPost, "/auth/logout", nil, nil)
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

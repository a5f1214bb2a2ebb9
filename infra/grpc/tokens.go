package grpc

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
	"github.com/tenuto-dev/tenuto/infra/reload"
)

// secret is the digest of a token, for comparisons in constant time, with its
// account.
type secret struct {
	sum   [sha256.Size]byte
	until time.Time // zero: does not expire
	who   *accounts.Account
}

// secrets returns the tokens of the configuration file, which never change.
func (c Config) secrets() []secret {
	var all []secret
	for i, t := range c.Tokens {
		all = append(all, secret{sum: sha256.Sum256([]byte(t)), who: holder(fmt.Sprintf("tokens[%d]", i))})
	}
	for i := range c.Users {
		u := &c.Users[i]
		s := secret{who: &accounts.Account{Name: u.Name, Permissions: u.Permissions}}
		switch {
		case u.Token != "":
			s.sum = sha256.Sum256([]byte(u.Token))
		case u.TokenHash != "":
			_, _ = hex.Decode(s.sum[:], []byte(u.TokenHash)) // Validate has checked it
		default:
			continue // has a password instead
		}
		all = append(all, s)
	}
	return all
}

// holder returns the account of a token without a user.
func holder(where string) *accounts.Account {
	return &accounts.Account{Name: where, Permissions: []string{permAll}}
}

// liveTokens follows the file of tokens. It returns nil if there is none.
func (p *Plugin) liveTokens() (*reload.Value[[]secret], error) {
	file := p.cfg.TokensFile
	if file == "" {
		return nil, nil
	}
	load := func() ([]secret, error) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("tokens-file: %w", err)
		}
		tokens, err := parseTokens(data)
		if err != nil {
			return nil, fmt.Errorf("tokens-file: %s:%w", file, err)
		}
		return tokens, nil
	}
	return reload.Load([]string{file}, load, reload.Options{Changed: reload.Log(p.Log, "tokens of the gRPC server", file)})
}

// parseTokens reads lines with a token and, optionally, the time it expires.
// Errors contain the line number but not its text.
func parseTokens(data []byte) ([]secret, error) {
	var all []secret
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
			continue
		case len(fields) > 2:
			return nil, fmt.Errorf("%d: expected a token, optionally followed by the time it expires", n)
		}
		s := secret{sum: sha256.Sum256([]byte(fields[0])), who: holder(fmt.Sprintf("tokens-file:%d", n))}
		if len(fields) == 2 {
			var err error
			if s.until, err = time.Parse(time.RFC3339, fields[1]); err != nil {
				return nil, fmt.Errorf("%d: second word: expected a time, such as 2027-01-31T12:00:00Z", n)
			}
		}
		all = append(all, s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf(" %w", err)
	}
	if len(all) == 0 {
		return nil, errors.New(" expected at least one token")
	}
	return all, nil
}

package client

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// late is the error of a request that timed out.
type late struct{ text string }

func (e late) Error() string { return e.text }

// Unwrap returns context.DeadlineExceeded.
func (e late) Unwrap() error { return context.DeadlineExceeded }

// onlyAsk are the paths where methods other than GET change nothing, either.
var onlyAsk = map[string]bool{"/scheduler/plan": true, "/configuration/validate": true, "/auth/login": true}

// explain explains to users why there is no response; within is the timeout of the
// request.
func (c *Client) explain(err error, within time.Duration, method, path string) error {
	var timeout interface{ Timeout() bool }
	switch ue := (*url.Error)(nil); {
	case errors.Is(err, syscall.ENOENT) && socketPath(c.opts.Host) != "":
		return fmt.Errorf("no agent answers at %s: there is no such socket (-H)", where(c))
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no agent answers at %s: connection refused; is it running there? (-H, --http-port)", where(c))
	case errors.As(err, &timeout) && timeout.Timeout():
		text := fmt.Sprintf("the agent at %s did not answer within %v (--timeout)", where(c), within)
		if method != http.MethodGet && !onlyAsk[path] {
			text += "; a request that has begun continues, see 'agentctl status' and 'agentctl config history'"
		}
		return late{text}
	case strings.Contains(err.Error(), "malformed HTTP response"):
		return fmt.Errorf("what listens at %s does not speak HTTP; is that the port of the agent's HTTP server? (--http-port; HTTPS needs --tls)", where(c))
	case strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return fmt.Errorf("the agent at %s does not use TLS (--tls, --insecure-tls)", where(c))
	case errors.As(err, new(*net.DNSError)):
		return fmt.Errorf("agent at %s: the name is not known (-H): %w", where(c), err)
	case errors.As(err, &ue):
		return fmt.Errorf("agent at %s: %w%s", where(c), ue.Err, certificateHint(err))
	}
	return fmt.Errorf("agent at %s: %w", where(c), err)
}

// certificateHint says what to do about an error of TLS; empty if it is another one.
func certificateHint(err error) string {
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return " (--tls-ca-file: the file with the CA certificate that signs the agent's certificate)"
	case errors.As(err, new(x509.HostnameError)):
		return " (-H: a name or an address that the certificate is for)"
	case strings.Contains(err.Error(), "remote error: tls: ") && strings.Contains(err.Error(), "certificate"):
		return " (the agent expects a certificate that it knows from this client: --tls-cert-file, --tls-key-file)"
	}
	return ""
}
